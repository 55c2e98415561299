"""How far predictions are from measurements, and the constants fitted to them."""
