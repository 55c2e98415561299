"""What is not known yet: the months ahead, and how a plan fares in them."""
