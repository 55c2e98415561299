"""One scenario and its plan: made, explained, compared, varied and verified."""
