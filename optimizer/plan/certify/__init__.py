"""The tree that proves a plan's bound: found with a solver, checked without one."""
