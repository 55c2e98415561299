"""A verdict as text, as a comment, and in the forms that pipelines read."""
