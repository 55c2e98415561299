"""What a difference comes from, solved again input by input, and the prices and scenarios by name."""
