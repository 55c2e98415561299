"""The path of large instances: patterns, column generation, decomposition."""
