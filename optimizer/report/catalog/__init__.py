"""The catalogs in tables: lists, entries, differences, imports."""
