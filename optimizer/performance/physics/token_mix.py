"""What the requests of a replica ask: tokens of prompts and answers, by kind, and how unevenly they arrive."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.queueing import POISSON, ArrivalVariation
from optimizer.performance.physics.row_arrays import RowArrays


@dataclass(frozen=True)
class TokenMix(RowArrays):
    """What the requests of each row look like: P kinds of lengths, all (n, P); shares of a row sum to 1.

    Each kind is a class of its own, so that P is K, unless `first_kind` says with which kind each of K classes begins.
    """

    new_tokens: Floats
    cached_tokens: Floats
    output_tokens: Floats
    share: Floats
    arrivals: ArrivalVariation = POISSON
    first_kind: tuple[int, ...] | None = None

    @property
    def varies(self) -> bool:
        """Whether requests of a class differ in length."""
        return self.first_kind is not None

    @property
    def unlike(self) -> bool:
        """Whether any two requests differ in length."""
        return bool(self.share.shape[1] > 1)

    def mean(self, values: Floats) -> Floats:
        """(n,) what the mean request has of something that differs by kind, (n, P)."""
        mean: Floats = np.sum(self.share * values, axis=1)
        return mean

    @cached_property
    def mean_output(self) -> Floats:
        """Output tokens of the mean request, (n,)."""
        return self.mean(self.output_tokens)

    @cached_property
    def mean_new(self) -> Floats:
        """Tokens to compute of the mean prompt, (n,)."""
        return self.mean(self.new_tokens)

    def by_class(self, of_kind: Floats) -> Floats:
        """(n, K) mean over the requests of each class of something that differs by kind, (n, P)."""
        if self.first_kind is None:
            return of_kind
        of_class: Floats = np.add.reduceat(self.share * of_kind, self.first_kind, axis=1)
        return of_class / np.add.reduceat(self.share, self.first_kind, axis=1)

    @cached_property
    def typical_output(self) -> Floats:
        """Output tokens whose inverse is the mean inverse over the requests of a class, (n, K): what short answers make
        of something that each takes once."""
        return 1 / self.by_class(1 / self.output_tokens)

    @cached_property
    def at_once(self) -> Floats:
        """Mean of the shorter of two answers over the mean answer, (n,): 1 where all are alike."""
        order = np.argsort(self.output_tokens, axis=1, kind="stable")
        output, share = (np.take_along_axis(each, order, axis=1) for each in (self.output_tokens, self.share))
        # share of the answers that are at least as long as each
        longer = np.cumsum(share[:, ::-1], axis=1)[:, ::-1]
        shorter: Floats = np.sum(longer**2 * np.diff(output, axis=1, prepend=0.0), axis=1)
        return shorter / self.mean_output

    @property
    def in_flight(self) -> Floats:
        """Share of each kind among running sequences, (n, P): those with long outputs stay longer."""
        held = self.share * self.output_tokens
        whole: Floats = np.sum(held, axis=1, keepdims=True)
        return held / whole

    def length(self, grown: Floats) -> Floats:
        """Cached tokens of each kind's sequences, (n, P), with the share `grown` (n,) of their output produced."""
        return self.new_tokens + self.cached_tokens + grown[:, None] * self.output_tokens
