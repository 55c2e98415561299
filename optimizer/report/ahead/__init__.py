"""Answers about the months ahead, in words and tables."""
