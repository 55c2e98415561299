"""The path of large instances: patterns, column generation, rolling horizon, decomposition."""
