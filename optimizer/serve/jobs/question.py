"""A question as it came over the network, checked as far as that needs no catalog, and its id."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from optimizer.answers.fitted import fitted
from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.version import VERSION
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile, findings_of, scenario_in
from optimizer.inputs.scenario.yaml_lines import Document, parse
from optimizer.plan.record.origin import content_sha256
from optimizer.serve.jobs.kinds import KINDS, JobKind
from optimizer.serve.jobs.options import Options

SCENARIO: Final = "scenario"
"""What findings call the scenario's text."""
OPTIONS: Final = "options"
"""What findings call the rest of a question."""
PLAN: Final = "plan"
"""The option that stands in a scenario's place, where a kind has it."""
Shape = TypeVar("Shape", bound=Options)


@dataclass(frozen=True)
class JobQuestion:
    """What is asked.

    Attributes:
        kind: One of `KINDS`.
        scenario_text: The scenario in YAML or JSON; empty for kinds that are about none.
        options: As the kind declares them.
    """

    kind: str
    scenario_text: str
    options: Options

    @classmethod
    def of(cls, kind: str, scenario_text: str, options: Mapping[str, Any]) -> "JobQuestion":
        """The question with its options checked.

        Raises:
            InputError: no such kind, a scenario is missing or one too many, or an option is unknown or out of range.
        """
        known = KINDS.get(kind)
        if known is None:
            hint = did_you_mean(kind, KINDS) or f"known: {', '.join(KINDS)}"
            raise InputError([Finding("question", 0, "", f"no such kind of question: {kind}", hint)])
        if known.of_scenario and not scenario_text.strip() and options.get(PLAN) is None:
            raise InputError(
                [Finding(SCENARIO, 0, "", "missing", "a scenario in YAML or JSON, or a shipped one's name")]
            )
        question = cls(kind, scenario_text, checked(known.options, options))
        if scenario_text and not question.of_scenario:
            given = f"{kind} is asked of {'a plan alone' if known.of_scenario else 'no scenario'}"
            raise InputError([Finding(SCENARIO, 0, "", given, "leave it out")])
        return question

    @property
    def answering(self) -> JobKind:
        """How it is answered."""
        return KINDS[self.kind]

    @property
    def of_scenario(self) -> bool:
        """Whether it is about the scenario of its text."""
        return self.answering.of_scenario and not self.options.brings_scenario

    def id(self, catalogs_sha256: str) -> str:
        """The hash of all that decides the answer: the program, what is asked, and what the catalogs hold."""
        asked = [self.kind, self.scenario_text, self.options.model_dump(mode="json")]
        return content_sha256([VERSION, catalogs_sha256, *asked])

    def read(self, catalogs: Catalogs) -> ScenarioFile | None:
        """The scenario, held against the catalogs; files that it names are refused.

        Raises:
            InputError: every problem, each with line and field.
        """
        if not self.of_scenario:
            return None
        return fitted(scenario_in(parse(self.scenario_text, SCENARIO), None, catalogs), catalogs)


def checked(shape: type[Shape], given: Mapping[str, Any]) -> Shape:
    """Options held against their declaration.

    Raises:
        InputError: one is unknown, missing or out of range, in the words of the command line.
    """
    try:
        return shape.model_validate(dict(given))
    except ValidationError as error:
        document = Document(OPTIONS, dict(given), {})
        raise InputError(
            Finding(each.file, 0, each.field, each.problem, each.hint) for each in findings_of(document, error, shape)
        ) from error
