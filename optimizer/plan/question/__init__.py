"""A scenario that can be asked again, changed: its candidates, masks and offers."""
