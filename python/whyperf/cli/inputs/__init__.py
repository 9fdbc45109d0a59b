"""What the arguments of a command mean: profiles, hosts, experiments, overridden factors."""
