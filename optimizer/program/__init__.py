"""Which choice is cheapest: the mixed-integer program, its proof and the only use of a solver."""
