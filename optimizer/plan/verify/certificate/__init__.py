"""Whether a certificate proves that no plan costs less: exact fractions, no solver, only Python's own library."""
