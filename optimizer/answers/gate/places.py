"""The line to look at for a rule that is broken: what caused it, else what was changed, else what is asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from optimizer.answers.gate.changes import line_of
from optimizer.answers.gate.rules.demands import Verdict
from optimizer.answers.gate.types import Cause, Gated, Reason
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile


@dataclass(frozen=True)
class Places:
    """Where the lines stand that a verdict may be about.

    Attributes:
        gated: Every scenario beside its baseline.
        files: Every scenario's file by its name.
        catalogs: With the rows of prices.
        causes: Of the whole difference.
    """

    gated: Sequence[Gated]
    files: Mapping[str, ScenarioFile]
    catalogs: Catalogs
    causes: Sequence[Cause]

    def reason(self, verdict: Verdict) -> Reason:
        """A broken rule at its line."""
        file, line = self.of(verdict)
        return Reason(
            rule=verdict.rule,
            guardrail=verdict.guardrail,
            limit=verdict.limit,
            value=verdict.value,
            text=verdict.text,
            scenario=verdict.scenario,
            file=file,
            line=line,
        )

    def of(self, verdict: Verdict) -> tuple[str, int]:
        """The row of a price of one's own, the rule's field, what raised the cost most, or where workloads begin."""
        priced = self.catalogs.price_places.get(verdict.priced)
        if priced is not None and priced.own:
            return priced.file, priced.line
        scoped = [each for each in self.gated if each.scenario in verdict.scope]
        causes = [cause for each in scoped for cause in each.causes] if verdict.scope else self.causes
        if verdict.scenario is None and (place := _of_the_greatest(causes)):
            return place
        own = (each for each in self.gated if each.scenario == verdict.scenario)
        asked = scoped or self.gated
        gated = next(own, None) or next((each for each in asked if each.edits), asked[0])
        field = verdict.field or next((edit.field for edit in gated.edits), "workloads")
        return gated.file, line_of(self.files[gated.scenario], field)


def _of_the_greatest(causes: Iterable[Cause]) -> tuple[str, int] | None:
    """The line of what adds most to the cause that does; None where none adds or none has a line."""
    adding = (cause for cause in causes if cause.change_usd > 0)
    for cause in sorted(adding, key=lambda cause: -cause.change_usd):
        placed = [each for each in cause.caused_by if each.line]
        added = [each for each in placed if each.change_usd is not None and each.change_usd > 0]
        for each in (*added, *(each for each in placed if each.change_usd is None)):
            return each.file, each.line
    return None
