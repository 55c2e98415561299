"""What a proof of the optimum is made of: bounds, dominance, the state of a search and its steps."""
