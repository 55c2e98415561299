"""Columns of the catalog: what a decoder counts, what it keeps of a sequence, how its weights are stored."""
