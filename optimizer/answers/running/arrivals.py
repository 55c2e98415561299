"""How requests arrive in a simulation, from a word for it."""

from pathlib import Path
from typing import Final

import numpy as np

from optimizer.base.errors import Finding, InputError
from optimizer.base.figures import exactly
from optimizer.inputs.scenario.demand import DAYS_PER_WEEK
from optimizer.inputs.scenario.tables import requests_of_trace
from optimizer.plan.simulate.arriving import Arrivals

GAMMA: Final = "gamma:"
RAMP: Final = "ramp:"
TOGETHER: Final = "together:"
WEEK: Final = "week"
FORMS: Final = (
    "poisson, gamma:CV2 with CV2 the squared variation of the gaps, ramp:FROM-TO in multiples of the plan's rate, "
    "together:SECONDS for requests that come at once every so often, week or "
    "week:DAYS for the scenario's own hours from Monday on, or trace"
)
MOST_CV2: Final = 1000.0
MOST_RAMP: Final = 100.0
MOST_SECONDS: Final = 86_400.0


def arrivals_of(text: str | None, trace: Path | None) -> Arrivals | None:
    """How requests arrive, from a word for it.

    Args:
        text: `poisson`, `gamma:CV2` with CV2 the squared variation of the gaps, `ramp:FROM-TO` in multiples of the
            rate, `together:SECONDS` for requests that come at once every so many, `week:DAYS` for the scenario's own
            hours from Monday on, `week` for seven days of them, or `trace`.
        trace: The file of a trace: a table of arrived_at_s, input_tokens, output_tokens, or lines of JSON with
            timestamp, input_length, output_length, and the blocks of prompts as hash_ids.

    Returns:
        What `simulate` takes; None where neither is given, which leaves it to the scenario.

    Raises:
        InputError: another form, a variation out of range, or a trace without a file.
    """
    if text == "trace" or trace is not None:
        if trace is None:
            raise InputError([Finding("--arrivals", 0, "", "trace needs a file", "name it with --trace FILE")])
        return Arrivals(recorded=requests_of_trace(trace))
    if text is None:
        return None
    if text == "poisson":
        return Arrivals()
    if text.startswith(GAMMA):
        return Arrivals(cv2=_number(text, text.removeprefix(GAMMA), MOST_CV2, "the squared variation"))
    if text.startswith(TOGETHER):
        return Arrivals(every_s=_number(text, text.removeprefix(TOGETHER), MOST_SECONDS, "the seconds between crowds"))
    if text in (WEEK, *(f"{WEEK}:{days}" for days in range(1, DAYS_PER_WEEK + 1))):
        return Arrivals(days=int(text.removeprefix(WEEK).removeprefix(":") or DAYS_PER_WEEK))
    if text.startswith(RAMP):
        first, _, last = text.removeprefix(RAMP).partition("-")
        ends = (_number(text, each, MOST_RAMP, "each end of a ramp") for each in (first, last))
        return Arrivals(ramp=(next(ends), next(ends)))
    raise InputError([Finding("--arrivals", 0, "", f"'{text}' is no way to arrive", FORMS)])


def _number(text: str, written: str, most: float, what: str) -> float:
    """A number above 0 in a word for how requests arrive."""
    try:
        value = float(written)
    except ValueError:
        value = float("nan")
    if not (np.isfinite(value) and 0 < value <= most):
        problem = f"'{text}': {what} is a number above 0, at most {exactly(most)}"
        raise InputError([Finding("--arrivals", 0, "", problem, FORMS)])
    return value
