"""The work of a command, step by step: plan, measure or simulate, record, analyze, print."""
