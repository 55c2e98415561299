"""Questions about many scenarios or plans at once: planned together, again, or under every value."""
