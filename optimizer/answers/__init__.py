"""One module per question a user asks; each is one call from inputs to a typed answer."""
