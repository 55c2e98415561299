"""A container that starts with a request and stops when it was idle for a while: its time up, and who waits for it.

Requests arrive by chance (Poisson) at a rate λ and are served beside one another. A container that is down starts with
the next one, which takes c seconds; requests that arrive meanwhile wait for the same moment. It stops once nothing was
in flight for the idle time-out. So each request holds it for its service S and the time-out, and it is up while
anything holds it: the busy period of a queue with as many servers as requests (M/G/∞), begun by the first request and
by those that arrived while it started. With F the distribution of D = S + time-out and q(t) = exp(−λ ∫₀ᵗ (1 − F)),

    up after the start = e^{λ E[D]} ∫₀^∞ q(t) (1 − F(t) e^{−λ c (1 − F(t))}) dt
    cycle              = 1/λ + c + up after the start

and by renewal each share of time, and by Poisson arrivals each share of requests, is a part of the cycle over all of
it. Where starting takes no time the share of time down, which is the share of requests that find it down, is
exp(−λ E[D]), whatever the distribution. The integral follows from q · E[cycle part] = ∫ (q − q₀), with q₀ the
probability that a container begun so is free after t.
Source: Takács (1962), Introduction to the Theory of Queues, chapter 3 (M/G/∞); Stadje (1985), The busy period of the
queueing system M/G/∞; Wolff (1982), Poisson arrivals see time averages.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats


@dataclass(frozen=True)
class Cycle:
    """Shares in the long run, all (n,).

    Attributes:
        down: Share of time in which the container is down.
        starts_per_s: How often it starts.
        starting: Share of time in which it starts.
        waiting: Share of requests that wait for a start.
        mean_wait_s: What requests wait for starts, on average over all of them.
    """

    down: Floats
    starts_per_s: Floats
    starting: Floats
    waiting: Floats
    mean_wait_s: Floats


def cycle(rate_per_s: Floats, start_s: Floats, held_s: Floats, share: Floats) -> Cycle:
    """The container at each row's rate.

    Args:
        rate_per_s: (n,) requests/s, 0 or more; a container that nobody calls stays down.
        start_s: (n,) seconds until it serves.
        held_s: (n, K) seconds for which a request of each class holds it: its service and the idle time-out.
        share: (K,) of each class in the requests; they add up to 1.
    """
    # (n, K) classes in the order in which they let go, with the share of requests that let go no later
    order = np.argsort(held_s, axis=1)
    until = np.take_along_axis(held_s, order, axis=1)
    gone = np.cumsum(np.broadcast_to(share, held_s.shape)[np.arange(len(held_s))[:, None], order], axis=1)
    start = np.zeros((len(held_s), 1))
    # (n, K) stretches between two of these moments: their length, and the share F gone before each
    length, before = np.diff(until, axis=1, prepend=start), np.hstack([start, gone[:, :-1]])
    rate, staying = rate_per_s[:, None], np.maximum(1 - before, 0.0)
    grown = rate * staying * length
    # (n, K) λ ∫ (1 − F) at the begin of each stretch; all of it is λ E[D]
    load = np.cumsum(grown, axis=1)
    decay = np.exp(-(load - grown))
    held = 1 - before * np.exp(-rate * start_s[:, None] * staying)
    # the integral over a stretch in which F is constant, times λ
    part = held * decay * np.divide(-np.expm1(-grown), staying, out=np.zeros_like(grown), where=staying > 0)
    empty, waiting_at_start = np.exp(-load[:, -1]), 1 + rate_per_s * start_s
    down = empty / (empty * waiting_at_start + part.sum(axis=1))
    down = np.where(rate_per_s > 0, down, 1.0)
    return Cycle(
        down=down,
        starts_per_s=rate_per_s * down,
        starting=rate_per_s * down * start_s,
        waiting=np.where(rate_per_s > 0, waiting_at_start * down, 0.0),
        mean_wait_s=np.where(rate_per_s > 0, start_s * (1 + rate_per_s * start_s / 2) * down, 0.0),
    )
