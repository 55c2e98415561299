"""Results of benchmarks held against the promises of a plan: kept, broken, undecided, or not the promised run."""
