"""What records of truth experiments say about gains and confidence: the tables of `whyperf.explain.calibration`."""
