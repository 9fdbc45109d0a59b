"""What a command does, step by step: plan, measure or simulate, record, analyze, print."""
