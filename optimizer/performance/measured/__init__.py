"""Deployments under the loads that benchmarks put on them."""
