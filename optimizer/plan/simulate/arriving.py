"""How simulated requests arrive: at gaps that vary, at a rate that rises, in crowds, or as they were recorded."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.base.figures import exactly
from optimizer.inputs.scenario.demand import POISSON_CV2, RecordedRequests, arrivals_in_words
from optimizer.inputs.scenario.traces.requests import TraceRequests, kept_requests
from optimizer.performance.simulation.arrivals import Stream, ramped, renewal, together, trace
from optimizer.plan.simulate.servers import ServedWorkload

LEFT_OUT: Final = 0
"""Seed of which requests of a record are left out."""


@dataclass(frozen=True)
class Arrivals:
    """One way to arrive, at the rate of the plan unless it says another.

    Attributes:
        cv2: Squared variation of the gaps between requests.
        ramp: The rate at the start and at the end over the plan's, on a straight line between; None for a steady rate.
        days: Of the scenario's own week, hour by hour; None for the hours in which replicas have most to do.
        every_s: Requests of so many seconds come at once, at their beginning; None where they do not.
        recorded: A trace, which says all of it.
        kept: Requests of a trace that the scenario keeps, at its own rate and of its own lengths.
    """

    cv2: float = POISSON_CV2
    ramp: tuple[float, float] | None = None
    days: int | None = None
    every_s: float | None = None
    recorded: TraceRequests | None = None
    kept: RecordedRequests | None = None

    @classmethod
    def as_asked(cls, service: ServedWorkload) -> Self:
        """As the scenario says it of a workload.

        Requests of several classes are drawn: which of them is sent to which replicas a record does not say. So are
        those of which too few would come to tell anything.
        """
        said = service.workload.arrivals
        kept = said.recorded if said is not None and len(service.names) == 1 else None
        if kept is None or not kept.are_enough_at(service.rate_per_s):
            return cls(service.cv2)
        return cls(service.cv2, kept=kept)

    @property
    def words(self) -> str:
        """As people say it."""
        if self.recorded is not None:
            return "as in the trace"
        if self.kept is not None:
            return "as recorded"
        if self.every_s is not None:
            return f"all of {exactly(self.every_s)} s at once"
        if self.ramp is not None:
            start, end = (exactly(each) for each in self.ramp)
            return f"Poisson, at a rate that goes from {start} to {end} times the plan's"
        if self.days is not None:
            return f"{self.days} {'day' if self.days == 1 else 'days'} of the week, hour by hour"
        return arrivals_in_words(self.cv2)

    @property
    def may_go_on(self) -> bool:
        """Whether more requests take longer and change nothing else."""
        return not self.is_record and self.ramp is None

    @property
    def is_steady(self) -> bool:
        """Whether requests come at one rate all the time, by themselves."""
        return not self.is_record and self.ramp is None and self.days is None and self.every_s is None

    @property
    def is_record(self) -> bool:
        """Whether requests are those that were recorded."""
        return self.recorded is not None or self.kept is not None

    def expected_s(self, service: ServedWorkload, requests: int) -> float:
        """How long so many requests take to come; those of the trace where it is one."""
        if self.recorded is not None:
            return float(np.ptp(self.recorded.arrived_s))
        if self.kept is not None:
            return float(np.ptp(_at_rate_of(service, self.kept).arrived_s))
        multiple = 1.0 if self.ramp is None else sum(self.ramp) / len(self.ramp)
        return requests / service.rate_per_s / multiple

    def stream(self, rng: np.random.Generator, service: ServedWorkload, requests: int) -> Stream:
        """So many requests of a workload, or those of the trace."""
        if self.recorded is not None:
            return trace(service.classes, *self.recorded)
        if self.kept is not None:
            return trace(service.classes, *_at_rate_of(service, self.kept))
        if self.every_s is not None:
            return together(rng, service.classes, service.rate_per_s, requests, self.every_s)
        if self.ramp is not None:
            return ramped(rng, service.classes, service.rate_per_s, requests, self.ramp)
        return renewal(rng, service.classes, service.rate_per_s, requests, self.cv2)


def _at_rate_of(service: ServedWorkload, kept: RecordedRequests) -> TraceRequests:
    """Kept requests as replicas are sent them.

    At a lower rate than the record's own some are left out by chance, the same ones whatever the plan is and the more
    the lower the rate is: each replica of a fleet meets its part of every burst. At a higher one all come as much
    faster. Prompts and answers are as much longer as the workload's are than the record's, and the blocks of other
    prompts than the record's nobody knows.
    """
    (mean_input,), (mean_output,) = service.classes.input_tokens, service.classes.output_tokens
    arrived_s, prompt, answer, blocks = kept_requests(kept)
    faster = service.rate_per_s / kept.peak_requests_per_second
    (coming,) = np.nonzero(np.random.default_rng(LEFT_OUT).random(len(arrived_s)) < faster)
    return TraceRequests(
        arrived_s[coming] / max(faster, 1.0),
        _as_long_as(prompt[coming], mean_input / kept.input_tokens),
        _as_long_as(answer[coming], mean_output / kept.output_tokens),
        None if blocks is None or mean_input != kept.input_tokens else blocks.of(coming),
    )


def _as_long_as(tokens: Ints, times: float) -> Ints:
    """So many times as long, a token at least."""
    return np.maximum(np.round(tokens * times), 1).astype(np.int64)
