"""One dimension of a scenario cut into its choices, each with its best plan."""
