"""The answer's types, in which nothing is computed."""
