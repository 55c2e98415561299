"""A reader for each kind of result file: known by its keys, pinned to the versions whose meaning is known."""
