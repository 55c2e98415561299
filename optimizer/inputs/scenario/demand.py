"""How much is asked, as people know it: a rate over the week, tokens a day, a batch with a deadline; how unevenly, and
of what lengths; requests of a trace one by one, as a text that a scenario carries into plans and files."""

import re
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from optimizer.base.figures import exactly
from optimizer.base.model import Strict
from optimizer.base.units import HOURS_PER_DAY
from optimizer.inputs.scenario.fields import (
    MAX_TOKENS,
    FieldError,
    HourlyRate,
    InShort,
    ManyTokens,
    Number,
    PositiveShare,
    Rate,
    Tokens,
)

DAYS_PER_WEEK: Final = 7
SHARE_TOLERANCE: Final = 1e-6
MEAN_TOLERANCE: Final = 0.01
"""By how much lengths may miss the mean that is said of them."""
WEEKDAYS: Final = 5
FULL_HOUR: Final = re.compile(r"(\d{1,2}):00")
MOST_REQUESTS: Final = 10_000
"""That are kept: some 0.1 MB of text, simulated in half a second."""
FEWEST_REQUESTS: Final = 2
"""That have a time between them."""
FEWEST_SENT: Final = 200
"""Requests at the rate that is asked, of which a record tells more than as many as one likes that are drawn."""
REQUEST: Final = r"\d{1,12}/\d{1,8}/\d{1,8}(?:/\d{1,5}:\d{1,6})?"
REQUESTS: Final = re.compile(f"{REQUEST}(?: {REQUEST})*")
CHARACTERS: Final = 40
"""Of a request at most."""
MOST_TEXTS: Final = 8
"""That are kept as rows."""


def _hour(value: Any) -> Any:
    """Reads `"06:00"` as 6."""
    if not isinstance(value, str):
        return value
    found = FULL_HOUR.fullmatch(value)
    if found is None:
        raise ValueError('expected a full hour such as "06:00"')
    return int(found[1])


Hour = Annotated[
    int,
    Number,
    Field(ge=0, le=24),
    InShort(_hour, lambda _: {"type": "string", "pattern": f"^{FULL_HOUR.pattern}$"}),
]
"""Of the day; 24 is midnight at its end."""


class Demand(Strict):
    """A rate that changes over the week; plans cover its peak."""

    hourly: Annotated[tuple[HourlyRate, ...], Field(min_length=24, max_length=24)] | None = None
    weekend_factor: Annotated[float, Number, Field(ge=0, le=10)] = 1.0
    peak_requests_per_second: Rate | None = None
    profile: str | None = None
    """A CSV file with `hour_of_week`, `requests_per_second`; read when the scenario is loaded."""
    weekly_requests_per_second: Annotated[tuple[HourlyRate, ...], Field(min_length=168, max_length=168)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = [
            form for form in ("hourly", "profile", "weekly_requests_per_second") if getattr(self, form) is not None
        ]
        if len(given) != 1:
            raise ValueError("give exactly one of hourly, profile, weekly_requests_per_second")
        if self.hourly is None and self.peak_requests_per_second is not None:
            raise ValueError("hourly and peak_requests_per_second go together")
        if not any(self.hourly or self.weekly_requests_per_second or (self.profile,)):
            raise ValueError("demand is zero in every hour")
        return self

    @property
    def has_no_height(self) -> bool:
        """Whether it says how demand moves over the day, and not how high it is."""
        return self.hourly is not None and self.peak_requests_per_second is None

    def shape(self) -> tuple[float, ...]:
        """(168,) the hours of the week against each other, as `hourly` and `weekend_factor` say."""
        if self.hourly is None:
            raise ValueError("the demand has no hourly shape")
        days = ((self.weekend_factor if day >= WEEKDAYS else 1.0) for day in range(DAYS_PER_WEEK))
        return tuple(rate * factor for factor in days for rate in self.hourly)

    def weekly(self) -> tuple[float, ...]:
        """Requests per second in each of the week's 168 hours, Monday first."""
        if self.weekly_requests_per_second is not None:
            return self.weekly_requests_per_second
        if self.hourly is None or self.peak_requests_per_second is None:
            raise ValueError("the demand was not loaded")
        week = self.shape()
        highest = max(week) or 1.0
        return tuple(rate / highest * self.peak_requests_per_second for rate in week)

    def weekly_peak(self) -> float:
        """The highest hour's requests per second."""
        return max(self.weekly())


class TokensPerDay(Strict):
    """Tokens of a weekday, of one kind: of prompts, of answers, or of both together."""

    input: ManyTokens | None = None
    output: ManyTokens | None = None
    total: ManyTokens | None = None

    @model_validator(mode="before")
    @classmethod
    def _says_which(cls, value: Any) -> Any:
        if isinstance(value, int | float | str):
            raise ValueError(f"which tokens? give {{input: {value}}}, {{output: {value}}} or {{total: {value}}}")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(count is not None for count in (self.input, self.output, self.total)) != 1:
            raise ValueError("give exactly one of input, output, total")
        return self

    def counted(self) -> tuple[str, float]:
        """What is counted, and how many a day."""
        kinds = {"input": self.input, "output": self.output, "input and output": self.total}
        return next((kind, count) for kind, count in kinds.items() if count is not None)


class Deadline(Strict):
    """A batch that is there at one hour of the day and must be done by another; no single answer is waited for."""

    requests: Annotated[int, Number, Field(ge=1, le=1_000_000_000_000)] | None = None
    tokens: TokensPerDay | None = None
    start: Hour
    """When the batch is there, `"22:00"`."""
    by: Hour
    """When its last answer is due, `"06:00"`; at or before `start` it is the next day's."""
    days: Literal["every_day", "weekdays"] = "every_day"
    """On which days a batch arrives."""

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if (self.requests is None) == (self.tokens is None):
            raise ValueError("give exactly one of requests, tokens")
        return self

    @property
    def window_hours(self) -> int:
        """From `start` to `by`, a whole day where both are one hour."""
        return (self.by - self.start - 1) % HOURS_PER_DAY + 1

    def times(self, factor: float) -> "Deadline":
        """A batch so many times as large, in whole requests."""
        if self.tokens is not None:
            kind, count = next((kind, count) for kind, count in self.tokens if count is not None)
            return self.model_copy(update={"tokens": self.tokens.model_copy(update={kind: count * factor})})
        return self.model_copy(update={"requests": max(1, round((self.requests or 0) * factor))})

    def is_open(self, hours: int) -> tuple[bool, ...]:
        """(168,) whether a batch is worked on in each hour of the week, Monday first, in so many from its start."""
        arrivals = range(DAYS_PER_WEEK if self.days == "every_day" else WEEKDAYS)
        working = {
            (day * HOURS_PER_DAY + self.start + hour) % (DAYS_PER_WEEK * HOURS_PER_DAY)
            for day in arrivals
            for hour in range(hours)
        }
        return tuple(hour in working for hour in range(DAYS_PER_WEEK * HOURS_PER_DAY))


POISSON_CV2 = 1.0
"""Squared variation of the gaps between requests that know nothing of each other."""


def arrivals_in_words(cv2: float) -> str:
    """How unevenly requests arrive, as people say it."""
    return "Poisson" if cv2 == POISSON_CV2 else f"gamma, squared variation {exactly(cv2)}"


class RecordedRequest(NamedTuple):
    """One request: milliseconds since the one before it, tokens, how many requests before it the one came whose prompt
    begins with the same blocks, and how many these are."""

    gap_ms: int
    input_tokens: int
    output_tokens: int
    back: int = 0
    blocks: int = 0

    @property
    def text(self) -> str:
        """As it is written."""
        begins = f"/{self.back}:{self.blocks}" if self.blocks else ""
        return f"{self.gap_ms}/{self.input_tokens}/{self.output_tokens}{begins}"


class RecordedRequests(Strict):
    """Requests of a trace, in the stretch of it in which they come fastest."""

    peak_requests_per_second: Rate
    """Of the whole trace in its busiest minute, the rate that is planned for; so the next two where nothing else
    changes them afterwards: with them rate and lengths are what is asked by then."""
    input_tokens: Tokens
    """Mean of the whole trace."""
    output_tokens: Tokens
    block_tokens: Tokens | None = None
    """Of a block of prompts; None where the trace does not say them."""
    requests: Annotated[str, Field(max_length=CHARACTERS * MOST_REQUESTS)]
    """Each as milliseconds since the one before it, tokens of its prompt and tokens of its answer: `12/1024/256`; then
    how many requests before it the one came whose prompt begins with the same blocks, and how many: `12/1024/256/3:2`.
    """

    @model_validator(mode="after")
    def _are_requests(self) -> Self:
        if REQUESTS.fullmatch(self.requests) is None:
            raise ValueError("requests are written as `milliseconds/prompt tokens/answer tokens`, a blank between two")
        rows = self.rows()
        if not FEWEST_REQUESTS <= len(rows) <= MOST_REQUESTS or not any(row.gap_ms for row in rows[1:]):
            raise ValueError(f"{FEWEST_REQUESTS} to {MOST_REQUESTS:,} requests, not all of them at one moment")
        lengths = [tokens for row in rows for tokens in (row.input_tokens, row.output_tokens)]
        if min(lengths) < 1 or max(lengths) > MAX_TOKENS:
            raise ValueError(f"prompts and answers of requests have 1 to {MAX_TOKENS:,} tokens")
        # whoever begins as another has its blocks, and so has that one
        shared = [
            (n, row, rows[n - row.back] if 0 < row.back <= n else None) for n, row in enumerate(rows) if row.blocks
        ]
        for number, row, like in shared:
            if like is None or min(self._blocks(row), self._blocks(like)) < row.blocks:
                raise ValueError(f"request {number + 1} begins with more blocks than it has, or than the one it names")
        return self

    def rows(self) -> tuple[RecordedRequest, ...]:
        """All of them, in order."""
        return _read(self.requests)

    def are_enough_at(self, rate_per_s: float) -> bool:
        """Whether of so many requests/s enough are these: of fewer a record tells less than drawn ones do."""
        return len(self.rows()) * rate_per_s >= FEWEST_SENT * self.peak_requests_per_second

    def _blocks(self, row: RecordedRequest) -> int:
        """Of a prompt."""
        return 0 if self.block_tokens is None else -(-row.input_tokens // self.block_tokens)


@lru_cache(maxsize=MOST_TEXTS)
def _read(text: str) -> tuple[RecordedRequest, ...]:
    """The requests that a text holds."""
    return tuple(RecordedRequest(*map(int, each.replace(":", "/").split("/"))) for each in text.split())


class ArrivalProcess(Strict):
    """How unevenly requests arrive: one of two ways to say it."""

    process: Literal["poisson"] | None = None
    cv2: Annotated[float, Number, Field(gt=0, le=1000)] | None = None
    """Squared variation of the gaps between requests, 1 for Poisson, more for bursts."""
    read_from: str | None = None
    """Of what in the trace it was read, for people; written when the scenario is loaded."""
    recorded: RecordedRequests | None = None
    """The requests themselves, that plans are simulated with; formulas know their variation. Written when the scenario
    is loaded."""

    @model_validator(mode="after")
    def _said_once(self) -> Self:
        if (self.process is None) == (self.cv2 is None):
            raise ValueError("say either `process: poisson` or `cv2`")
        return self


class RequestLengths(Strict):
    """Some requests of a class: their share of it, and how long they are."""

    share: PositiveShare
    input_tokens: Tokens
    output_tokens: Tokens


class RequestClass(Strict):
    """A share of a workload's requests with lengths of its own."""

    share: PositiveShare
    input_tokens: Tokens
    """Mean of its requests; so the next."""
    output_tokens: Tokens
    lengths: Annotated[tuple[RequestLengths, ...], Field(min_length=1, max_length=400)] | None = None
    """How long which of its requests are; all alike where nothing is said."""
    read_from: str | None = None
    """Which profile it is of, with its source and licence, for people; written when the scenario is loaded."""

    @model_validator(mode="after")
    def _lengths_have_its_means(self) -> Self:
        if self.lengths is None:
            return self
        total = sum(item.share for item in self.lengths)
        if abs(total - 1) > SHARE_TOLERANCE:
            raise FieldError("lengths", f"the shares add up to {total:g}, not 1", "give the share of each in its class")
        for field in ("input_tokens", "output_tokens"):
            mean, said = sum(item.share * getattr(item, field) for item in self.lengths), getattr(self, field)
            if abs(mean - said) > max(1.0, MEAN_TOLERANCE * said):
                raise FieldError(field, f"{said} is not the mean of its lengths, {mean:,.1f}", f"give {round(mean)}")
        return self

    @property
    def longest_tokens(self) -> int:
        """Prompt and answer of its longest requests."""
        return max(item.input_tokens + item.output_tokens for item in self.lengths or (self,))

    @property
    def name(self) -> str:
        """The class as people write it: prompt length by answer length."""
        return f"{self.input_tokens}x{self.output_tokens}"
