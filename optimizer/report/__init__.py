"""Answers in words and tables: pure functions that decide nothing."""
