"""The tools: which kinds of question agents may ask, what each takes, and how its answer is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from pydantic import Field, JsonValue, create_model

from optimizer.report.accuracy.prediction import prediction_answer, prediction_sentence
from optimizer.report.compare.compare import compare_answer
from optimizer.report.layout.elements import WrittenAnswer
from optimizer.report.plan.frontier import frontier_answer
from optimizer.report.plan.sections import plan_answer
from optimizer.report.plan.why_not import why_not_answer
from optimizer.serve.jobs.kinds import KINDS, JobKind
from optimizer.serve.jobs.options import Options
from optimizer.serve.jobs.question import SCENARIO

GIVEN_SCENARIO: Final = Field(
    json_schema_extra={"anyOf": [{"type": "string"}, {"type": "object"}]},
    description="The scenario: YAML or JSON text, an object, or the name of a shipped one. "
    "`list_catalog` with catalog=scenarios names those, with name=NAME it shows one to start from.",
)


class Reading(Options):
    """Which part of an answer is read, and in what form."""

    format: Literal["markdown", "json"] = Field(
        default="markdown", description="Markdown to read, or all fields as JSON, as the command writes them."
    )
    from_character: int = Field(
        default=0, ge=0, description="Where to go on reading a long answer; 0 begins it. Nothing is solved again."
    )


@dataclass(frozen=True)
class QuestionTool:
    """A tool that asks one kind of question.

    Attributes:
        kind: Of question.
        written: From its answer and the options to words.
        sentence: The answer in a sentence, where what is written has none.
    """

    kind: str
    written: Callable[[Any, Any], WrittenAnswer]
    sentence: Callable[[Any], str] | None = None

    @property
    def asks(self) -> JobKind:
        """The kind of question."""
        return KINDS[self.kind]

    @property
    def arguments(self) -> type[Reading]:
        """What the tool may be called with: the kind's own options, its scenario, and what to read of the answer."""
        scenario: dict[str, Any] = {SCENARIO: (JsonValue, GIVEN_SCENARIO)} if self.asks.of_scenario else {}
        bases: Any = (Reading, self.asks.options)
        return cast(type[Reading], create_model(self.kind, __base__=bases, **scenario))


QUESTION_TOOLS: Final[Mapping[str, QuestionTool]] = {
    "plan": QuestionTool("plan", lambda answer, options: plan_answer(answer, options.verbose)),
    "why_not": QuestionTool("why-not", lambda answer, _: why_not_answer(answer)),
    "compare": QuestionTool("compare", lambda answer, _: compare_answer(answer)),
    "frontier": QuestionTool("frontier", lambda answer, _: frontier_answer(answer)),
    "predict": QuestionTool("predict", lambda answer, _: prediction_answer(answer), prediction_sentence),
}
