"""Purchases before demand, prices and speeds are known: what they cost in each draw, and the best of them."""
