"""Choices side by side: table, sheet and chart."""
