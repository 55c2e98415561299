"""The purchase problem as numbers: no solver object, nothing to look up elsewhere."""
