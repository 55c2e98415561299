"""`optimizer gate`: its options, what it reads, and the outputs that every end of it writes."""
