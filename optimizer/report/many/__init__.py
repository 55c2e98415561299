"""Answers about many scenarios or plans at once, in tables."""
