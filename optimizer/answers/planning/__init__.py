"""One plan: solved, answering to its simulation, explained, and what is asked of it alone."""
