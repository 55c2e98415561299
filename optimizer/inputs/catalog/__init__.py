"""What is known: rows of the catalogs, strictly read, with unit, source and date."""
