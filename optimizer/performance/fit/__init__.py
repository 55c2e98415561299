"""Constants and interval widths fitted to measurements."""
