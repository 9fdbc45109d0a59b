"""`whyperf-lab truth`, step by step."""
