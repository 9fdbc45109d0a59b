"""Without privilege `whyperf run` measures over the loopback and says so."""
