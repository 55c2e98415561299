"""Purchases over the months ahead: a scenario as a tree of months, and its decisions read back."""
