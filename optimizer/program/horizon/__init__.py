"""Purchases over months whose course is not known: the program over a tree of months, and decisions without it."""
