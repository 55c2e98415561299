"""What is for sale and what a policy admits of it."""
