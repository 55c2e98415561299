"""The commands that predict, validate and calibrate."""
