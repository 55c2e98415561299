"""Whether a certificate proves that no plan costs less: exact fractions, no solver, Python's own library and no more."""
