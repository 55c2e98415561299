"""What is measured of a deployment, in one order for every array that has a row for each."""

from typing import Final

METRICS: Final = ("tpot", "ttft", "throughput")
"""What is measured, in the order of every array with one row a metric: ms, ms, output tokens/s."""
