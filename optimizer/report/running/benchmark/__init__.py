"""Benchmark runs as files: a script for each deployment, one for all, and a page that says what they decide."""
