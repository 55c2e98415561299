"""Training and serving over months of growth."""
