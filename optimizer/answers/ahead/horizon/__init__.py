"""When to commit, for how long, and what to wait for."""
