"""What a generator asked of the server, read alike from every tool: a rate, requests in flight, or all at once."""

import math

from optimizer.inputs.importing.load_results.record import Flaw, Load

CLIENT_QUEUES = Flaw(
    "its client held requests back at its own limit in flight, and that wait is not in its TTFT",
    "ask for a rate or for requests in flight, not for both",
)


def load_of(
    rate: float | None, in_flight: float | None, requests: float | None
) -> tuple[Load | None, tuple[Flaw, ...]]:
    """The load, and what is wrong with it.

    Args:
        rate: Requests/s; infinity where the generator waits for nothing.
        in_flight: The most requests that the client has open; None where it has no limit.
        requests: That were sent; of everything at once.

    Returns:
        A closed loop where only requests in flight limit the client, an open loop at a rate, everything at once where
        nothing limits it, None where nothing is known of it.
    """
    if rate is None and in_flight is None:
        return None, ()
    if rate is not None and math.isfinite(rate):
        return Load("request_rate", rate), () if in_flight is None else (CLIENT_QUEUES,)
    if in_flight is not None:
        return Load("concurrency", in_flight), ()
    return Load("offline", requests), ()
