"""A scenario in draws: demand, prices, capacity and predictions, what may be bought, what its plan comes to."""
