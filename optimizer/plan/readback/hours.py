"""Hours of a week as people name them: the first and the last of each stretch."""

from collections.abc import Sequence


def ranges(hours: Sequence[int]) -> list[tuple[int, int]]:
    """Rising hours as runs, the first and last of each."""
    starts = [hour for hour in hours if hour - 1 not in hours]
    ends = [hour for hour in hours if hour + 1 not in hours]
    return list(zip(starts, ends, strict=True))
