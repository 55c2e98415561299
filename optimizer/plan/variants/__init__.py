"""The plan cut into choices, each solved alone."""
