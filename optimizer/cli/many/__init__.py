"""Many scenarios in one call."""
