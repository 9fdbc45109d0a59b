"""What moving data costs, by class and function: exact totals, split by sampled stacks."""
