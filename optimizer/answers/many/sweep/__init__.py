"""Many plans at once: one scenario under every value asked for."""
