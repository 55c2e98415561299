"""Numbers that a caller in Python gives, held to the ranges that the command line has for them."""

from optimizer.base.errors import Finding, refuse
from optimizer.base.figures import exactly

Range = tuple[float | None, float, float]
"""What was given, None for nothing, and the least and the most that it may be."""


def check_within(command: str, **given: Range) -> None:
    """Refuses numbers outside of their range, and what is no number.

    Raises:
        InputError: every one of them.
    """
    findings = [
        Finding(command, 0, name, f"{value!r} is not a number from {exactly(least)} to {exactly(most)}")
        for name, (value, least, most) in given.items()
        if value is not None and not least <= value <= most
    ]
    refuse(findings)
