"""The page of the service: a question typed or drawn, its answer set as a book would set it."""
