"""How results are printed: lines, tables, JSON, and the exit code."""
