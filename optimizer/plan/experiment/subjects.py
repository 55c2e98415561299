"""What one benchmark run speaks for: configurations of a workload that differ only in where they stand."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from optimizer.base.arrays import Flags
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.facts import PLAIN_PRECISION
from optimizer.plan.question.service import Use


class Subject(NamedTuple):
    """A model as one engine runs it in one layout on one GPU, for one workload's requests."""

    workload: str
    model: str
    engine: str
    gpu: str
    precision: str
    kv_precision: str
    tensor_parallel: int
    pipeline_parallel: int
    speculation: str = ""

    @property
    def words(self) -> str:
        """What is measured, as runs are called."""
        gpus = self.tensor_parallel * self.pipeline_parallel
        draft = f", drafting {self.speculation}" if self.speculation else ""
        return f"{self.model} {self.precision} on {gpus}×{self.gpu} with {self.engine}{draft}"


def subject_of(workload: str, configuration: Any) -> Subject:
    """What a run of a configuration, or of a deployment of it, speaks for; all formats of 16 bits are one."""
    found = Subject(workload, *(getattr(configuration, name) for name in Subject._fields[1:]))
    return found._replace(precision=_plain(found.precision), kv_precision=_plain(found.kv_precision))


def _plain(precision: str) -> str:
    return PLAIN_PRECISION if precision in SIXTEEN_BIT else precision


def subjects_of(options: WorkloadOptions) -> Categorical[Subject]:
    """Those of each of a workload's configurations, (P,)."""
    name = options.workload.name
    return Categorical.of([subject_of(name, configuration) for configuration in options.configurations])


def subjects_used(options: Sequence[WorkloadOptions], used: Collection[Use]) -> list[Subject]:
    """Those of what a solution runs, each once, in a fixed order."""
    columns = [use.column for use in used]
    found = {
        subject_of(options[c.workload].workload.name, options[c.workload].configurations[c.configuration])
        for c in columns
    }
    return sorted(found)


def rows_of(subjects: Categorical[Subject], wanted: Collection[Subject]) -> Flags:
    """(P,) whether each configuration is one of those that runs are made of."""
    return subjects.passing(lambda subject: subject in wanted)
