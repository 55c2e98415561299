"""The commands that read and write catalogs."""
