"""What stands in the catalogs and what changed in them: imports, differences, snapshots."""
