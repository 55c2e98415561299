"""What each choice delivers: physics as arrays, one row a configuration, SI units."""
