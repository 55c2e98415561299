"""Kinds of rows of the catalogs, a subject a file: models, engines, own terms, sources and what else is known."""
