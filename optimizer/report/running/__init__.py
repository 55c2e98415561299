"""Answers about a plan that is run: deployment, simulation, benchmarks, metrics."""
