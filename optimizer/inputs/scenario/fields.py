"""Kinds of value in a scenario: numbers with their range, names, lists of names that are allowed or denied."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from optimizer.base.model import Strict

MAX_NAMES = 1000
"""Of one list: more than any catalog holds and few enough to check each with suggestions."""


@dataclass(frozen=True)
class InShort:
    """Marks a field that may also be written in short, which the schema of what is read then admits, too.

    Attributes:
        read: From what is written, short or not, to the whole.
        form: From the schema of the whole to that of the short form.
    """

    read: Callable[[Any], Any]
    form: Callable[[JsonSchemaValue], JsonSchemaValue]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Reads before anything is validated."""
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Either form where it is read; what is written is whole."""
        whole = handler(core)
        return whole if handler.mode == "serialization" else {"anyOf": [whole, self.form(whole)]}


def _no_truth_value(value: object) -> object:
    """Refuses yes/no where a number is meant: YAML would otherwise read `yes` as 1."""
    if isinstance(value, bool):
        raise ValueError("expected a number, not yes/no")
    return value


def _listed(value: Any) -> Any:
    """Reads a bare string where a list is meant."""
    return [value] if isinstance(value, str) else value


def _folded(value: Any) -> Any:
    """Reads codes in upper case as in lower case."""
    return tuple(item.casefold() if isinstance(item, str) else item for item in value) if _is_list(value) else value


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _everywhere(value: Any) -> Any:
    """Reads a bare number as the figure of everything that a pattern may match."""
    return value if value is None or isinstance(value, dict) else {"*": value}


def _figure(whole: JsonSchemaValue) -> JsonSchemaValue:
    """The schema of one of the figures by pattern."""
    by_pattern = next(each for each in whole.get("anyOf", [whole]) if "additionalProperties" in each)
    figure: JsonSchemaValue = by_pattern["additionalProperties"]
    return figure


Number = BeforeValidator(_no_truth_value)
Listed = InShort(_listed, lambda whole: whole["items"])
Everywhere = InShort(_everywhere, _figure)
Folded = BeforeValidator(_folded)

MAX_RATE = 1e6
"""Requests per second."""
MIN_RATE = 1e-9
"""One request in some thirty years."""
Rate = Annotated[float, Number, Field(ge=MIN_RATE, le=MAX_RATE)]
HourlyRate = Annotated[float, Number, Field(ge=0, le=MAX_RATE)]
MAX_TOKENS = 10_000_000
"""Of a prompt or an answer."""
Tokens = Annotated[int, Number, Field(ge=1, le=MAX_TOKENS)]
MIN_MS = 0.001
"""Of a limit: a microsecond, in which no server answers."""
Milliseconds = Annotated[float, Number, Field(ge=MIN_MS, le=1e8)]
MAX_NETWORK_MS = 10_000.0
"""Of a round trip."""
NetworkMs = Annotated[float, Number, Field(ge=0, le=MAX_NETWORK_MS)]
Share = Annotated[float, Number, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Number, Field(gt=0, le=1)]
Whole = Annotated[int, Number, Field(ge=0, le=1_000_000)]
PositiveWhole = Annotated[int, Number, Field(ge=1, le=1_000_000)]
People = Annotated[int, Number, Field(ge=1, le=10_000_000_000)]
WithoutEvidence = Literal["reject", "avoid", "accept"]
"""What is done with what nobody published: never planned on, only where no other plan exists, or like anything else."""
UnknownQuality = Literal["reject", "avoid", "family", "accept"]
"""The same of quality; `family` counts what models of its size keep, and avoids what even that does not say."""
ManyTokens = Annotated[float, Number, Field(gt=0, le=1e18)]
Usd = Annotated[float, Number, Field(ge=0, le=1e12)]
PositiveUsd = Annotated[float, Number, Field(gt=0, le=1e12)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80)]
ModelName = Annotated[str, Field(min_length=1, max_length=200)]
Names = Annotated[tuple[str, ...], Field(max_length=MAX_NAMES), Listed]
Codes = Annotated[tuple[str, ...], Field(max_length=MAX_NAMES), Folded, Listed]


NameKind = Literal[
    "model",
    "gpu",
    "provider",
    "seller",
    "region",
    "country",
    "engine",
    "precision",
    "kv_precision",
    "geography",
    "length_profile",
]
"""What a name in a scenario may be of: a `provider` serves in any way, a `seller` rents machines."""


@dataclass(frozen=True)
class NameOf:
    """Marks a field whose texts are names in the catalogs: a text, a list of them, or figures by name."""

    kind: NameKind
    wildcards: bool = True


class FieldError(ValueError):
    """Fields that do not go together: the one to look at, what is wrong and how to mend it."""

    def __init__(self, field: str, problem: str, hint: str) -> None:
        self.field, self.problem, self.hint = field, problem, hint
        super().__init__(f"{problem} ({hint})")


class AllowDeny(Strict):
    """Names or wildcards; an empty allow list allows all, deny wins."""

    allow: Names = ()
    deny: Names = ()

    @property
    def restricts(self) -> bool:
        """Whether anything is left out at all."""
        return bool(self.allow or self.deny)

    @property
    def words(self) -> str:
        """The lists as people write them."""
        lists = (("allow", self.allow), ("deny", self.deny))
        return "; ".join(f"{verb} {', '.join(names)}" for verb, names in lists if names)

    def permits(self, *names: str) -> bool:
        """Whether something that goes by these names passes both lists."""
        allowed = not self.allow or _any_match(names, self.allow)
        return allowed and not _any_match(names, self.deny)


class Regions(AllowDeny):
    """Names or wildcards of regions; what takes an account of its own is allowed by an entry that means it alone."""

    def permits_apart(self, region: str, others: Collection[str]) -> bool:
        """Whether a region that takes an account of its own passes both lists, by an entry that admits no other region.

        Args:
            region: Its name.
            others: The names of the regions that do not.
        """
        meant = tuple(entry for entry in self.allow if not any(fnmatchcase(name, entry) for name in others))
        return self.permits(region) and _any_match((region,), meant)


class Countries(AllowDeny):
    """ISO 3166 country codes or zones such as `eu`, in either case."""

    allow: Codes = ()
    deny: Codes = ()


def repeated(values: Iterable[str | int]) -> str:
    """Those that stand more than once, in words."""
    return ", ".join(str(value) for value, count in sorted(Counter(values).items()) if count > 1)


def _any_match(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
