"""Questions about a plan that is run: files that deploy it, load, benchmarks, what they would be worth, metrics."""
