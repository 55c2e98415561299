"""Predictions, their errors and calibrations in tables."""
