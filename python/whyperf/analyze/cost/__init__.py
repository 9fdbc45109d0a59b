"""The cost of moving data, by class and function: exact totals, split by sampled stacks."""
