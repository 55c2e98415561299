"""What is known of a model's configurations before any request is: looked up once for all questions on the catalogs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.latest import Latest
from optimizer.base.once_of import OnceOf
from optimizer.inputs.catalog.quality import QualityEstimate
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Policy, Workload
from optimizer.performance.candidates.enumeration import (
    Kind,
    configurations_of,
    decisive,
    fixed_failures,
    needless_stages,
)
from optimizer.performance.market.supply import Platform
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.memory import MemoryUse, kv_bytes_per_sequence, memory_use
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.uncertainty.evidence import Margins, drafting, margins, pipeline_measured, unmeasured

MOST_CONFIGURATIONS: Final = 60_000
"""Of all that is kept together on the same catalogs, at 1 kB each; the last are kept however many they are."""

MOST_CONFIDENCES: Final = 4
"""Whose margins are kept."""


@dataclass(frozen=True, eq=False)
class LookedUp:
    """Configurations of a model (P), in a fixed order.

    Attributes:
        anywhere: Where each could be held, whatever the distance.
        setup: Their constants.
        memory: What each takes and has.
        fields: Of each, as far as criteria depend on them.
        pipeline_measured: (P,) whether stages of a pipeline were measured with its engine; true of a single stage.
    """

    configurations: tuple[Configuration, ...]
    anywhere: Categorical[Kind]
    setup: Setup
    memory: MemoryUse
    fields: Mapping[str, Categorical[Any]]
    pipeline_measured: Flags
    _margins: Latest[Margins] = field(default_factory=lambda: Latest(MOST_CONFIDENCES))

    def margins_at(self, confidence: float, catalogs: Catalogs) -> Margins:
        """(P,) each."""
        known = self._margins.get(confidence)
        found = margins(catalogs, self.configurations, confidence) if known is None else known
        self._margins.put(confidence, found)
        return found

    def failed_at_any_rate(
        self, workload: Workload, policy: Policy, catalogs: Catalogs, quality: Sequence[QualityEstimate | None]
    ) -> dict[str, Flags]:
        """(P,) by criterion, what no rate would change.

        Args:
            workload: Of the model.
            policy: What it is held to.
            catalogs: What is known.
            quality: (P,) None where nobody published it.
        """
        configurations, setup = self.configurations, self.setup
        failed = fixed_failures(self.fields, workload, policy, catalogs, quality)
        longest = np.array([float(item.longest_tokens) for item in workload.classes()])
        room = self.memory.kv_capacity >= kv_bytes_per_sequence(setup, longest).max(axis=1)
        fits = room & ~failed["divisibility"]
        failed["pipeline"] = needless_stages(self.fields, self.anywhere, fits, self.pipeline_measured)
        if policy.unmeasured_performance == "reject":
            failed["measured"] = unmeasured(catalogs, configurations) | drafting(configurations)
        if workload.unknown_quality == "reject" and not workload.has_quality_floor:
            failed["published"] = np.array([estimate is None for estimate in quality], dtype=np.bool_)
        failed["engine_calibrated"] = ~setup.constants.known
        return failed


_KNOWN: Final = OnceOf[Catalogs, Latest[LookedUp]](lambda _: Latest(MOST_CONFIGURATIONS))


def looked_up(workload: Workload, policy: Policy, catalogs: Catalogs, platforms: Mapping[Platform, int]) -> LookedUp:
    """All configurations of a workload's model on these platforms, each with the most GPUs of an instance.

    Raises:
        InputError: the policy asks by name for an engine that is calibrated on no GPU.
    """
    drafts = workload.drafts_of(workload.model)
    # all that `configurations_of` depends on
    asked = (workload.model, repr(drafts), policy.engines, policy.precisions, frozenset(platforms.items()))
    of_catalogs = _KNOWN(catalogs)
    known = of_catalogs.get(asked)
    if known is None:
        configurations, anywhere = configurations_of(workload, catalogs, platforms, policy)
        setup = gather(catalogs, configurations)
        staged = pipeline_measured(catalogs, configurations)
        known = LookedUp(configurations, anywhere, setup, memory_use(setup), decisive(configurations), staged)
        of_catalogs.put(asked, known, len(configurations))
    return known
