"""The findings of records of truth experiments on gains and confidence: the tables of `whyperf.explain.calibration`."""
