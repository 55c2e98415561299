"""A plan and its variations in words, tables and charts."""
