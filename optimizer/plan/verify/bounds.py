"""The latencies that a configuration keeps at a rate with the confidence of its margins, again."""

from dataclasses import replace

from optimizer.base.arrays import Floats
from optimizer.performance.candidates.predict import Mix, OperatingPoint, operate
from optimizer.performance.physics.setup import Setup
from optimizer.performance.uncertainty.evidence import Margins


def at_bound(setup: Setup, mix: Mix, rates: Floats, room: Margins) -> OperatingPoint:
    """The latencies of each configuration at its rate, (n,), with its margins, (n,) or one for all.

    They are those of a replica all of whose steps take longer by the margin of TPOT: in their time requests arrive as
    much faster. What a request takes that stands in no line has the margin of TTFT.
    """
    first, token = room.ttft, room.tpot
    in_its_time = replace(mix.arrivals, rate_per_s=mix.arrivals.rate_per_s * token)
    slower = operate(setup, replace(mix, arrivals=in_its_time), rates * token)
    return replace(
        slower,
        rate_per_s=slower.rate_per_s / token,
        tpot_s={name: token * each for name, each in slower.tpot_s.items()},
        requests=slower.requests.times(first, token),
    )
