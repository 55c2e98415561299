"""A file of guardrails as it is written: teams, and named rules with scope, limits, owner and override."""

import re
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, model_validator

from optimizer.base.errors import Finding, InputError, did_you_mean, refuse
from optimizer.base.model import Strict
from optimizer.inputs.scenario.fields import FieldError, Name, Names, Number
from optimizer.inputs.scenario.loading import findings_of, read_document

Limit = Annotated[Decimal, Number, Field(ge=0, le=10**12)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
Patterns = Annotated[Names, Field(min_length=1)]
"""Of scenarios' names; an empty list would be a rule over nothing, or be taken for one over everything."""
MAX_RULES = 200


def _written_day(value: object) -> object:
    """Refuses numbers, which would be read as seconds since 1970, and times."""
    if type(value) is date or (isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value)):
        return value
    raise ValueError("must be a day such as 2026-12-31")


Day = Annotated[date, BeforeValidator(_written_day)]


class Override(Strict):
    """Why a rule yields for a while; from the day after `until` it holds again."""

    reason: Words
    until: Day


class Guardrail(Strict):
    """One rule over the scenarios in its scope: all of them together, or each by itself."""

    name: Name
    scenarios: Patterns = ()
    """Patterns of scenarios' names; with no team either, all of them."""
    teams: Patterns = ()
    over: Literal["together", "each"] = "together"
    max_monthly_usd: Limit | None = None
    max_increase_usd: Limit | None = None
    max_increase_percent: Limit | None = None
    effect: Literal["block", "warn"] = "block"
    message: str = ""
    """What to do about it, shown where the rule is broken."""
    owner: str = ""
    """Whom to ask."""
    override: Override | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> "Guardrail":
        limits = (self.max_monthly_usd, self.max_increase_usd, self.max_increase_percent)
        if all(limit is None for limit in limits):
            known = "max_monthly_usd, max_increase_usd, max_increase_percent"
            raise FieldError("name", "this rule limits nothing", f"give at least one of {known}")
        return self


class Guardrails(Strict):
    """The whole file.

    Attributes:
        teams: Patterns of scenarios' names by team.
    """

    teams: dict[str, Patterns] = Field(default_factory=dict)
    rules: Annotated[tuple[Guardrail, ...], Field(min_length=1, max_length=MAX_RULES)]

    def patterns(self, rule: Guardrail) -> tuple[str, ...]:
        """Whose scenarios a rule is about."""
        of_teams = (pattern for team in rule.teams for pattern in self.teams.get(team, ()))
        return (*rule.scenarios, *of_teams) or ("*",)


def read_guardrails(path: Path) -> Guardrails:
    """The rules of a YAML or JSON file.

    Raises:
        InputError: an unknown field, a value out of range, a rule that limits nothing, a name that stands twice, a team
            that is not defined; all problems at once, each with its line.
    """
    document = read_document(path)
    if not isinstance(document.content, dict):
        raise InputError([Finding(document.file, 1, "", "guardrails are a mapping", "start with rules:")])
    try:
        found = Guardrails.model_validate(document.content)
    except ValidationError as error:
        raise InputError(findings_of(document, error, Guardrails)) from error
    findings = []
    names = [rule.name for rule in found.rules]
    for at, rule in enumerate(found.rules):
        if rule.name in names[:at]:
            line, field = document.line(("rules", at, "name")), f"rules[{rule.name}].name"
            findings.append(Finding(document.file, line, field, "two rules have this name", "rename one"))
        for team in rule.teams:
            if team not in found.teams:
                line, field = document.line(("rules", at, "teams")), f"rules[{rule.name}].teams"
                hint = did_you_mean(team, found.teams) or f"known: {', '.join(sorted(found.teams)) or 'none'}"
                findings.append(Finding(document.file, line, field, f"unknown team '{team}'", hint))
    refuse(findings)
    return found


def matching(patterns: tuple[str, ...], names: list[str]) -> list[str]:
    """The names that any pattern matches, in their order."""
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]
