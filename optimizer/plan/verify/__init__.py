"""Every promise of a plan computed again by arithmetic that shares nothing with the program."""
