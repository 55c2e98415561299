"""What a plan is worth where demand, prices, capacity and predictions are not known."""
