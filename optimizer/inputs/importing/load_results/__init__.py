"""What load generators measured, whatever tool wrote it, as one record with one set of units."""
