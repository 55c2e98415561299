"""What the user writes and what we know: scenarios and catalogs, loaded strictly and checked at once."""
