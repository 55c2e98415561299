"""Families of configurations: what a `model_type` implies without a word in its config.json."""
