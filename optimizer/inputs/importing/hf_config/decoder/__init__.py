"""A decoder from its configuration, layer by layer."""
