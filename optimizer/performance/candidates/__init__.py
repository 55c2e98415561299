"""Every way to run a workload, predicted and judged by every criterion."""
