"""Serving engines: where each runs, what it starts with by version, GPU and device memory; drafts and their yield."""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from fnmatch import fnmatchcase
from statistics import median
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.inputs.catalog.kinds import FigureStatus

Setting = Literal["memory_utilization", "max_num_seqs", "max_num_batched_tokens", "undivided_context"]
UNITS: Final = {
    "memory_utilization": "share",
    "max_num_seqs": "sequences",
    "max_num_batched_tokens": "tokens",
    "undivided_context": "tokens",
}
"""The one unit that each setting is written in."""

Count = Annotated[int, Field(ge=1)]
Serving = Literal["continuous_batching", "one_request"]
"""How an engine serves: what it takes for a token when one request runs tells little of it in a batch that changes."""

DraftMethod = Literal["mtp", "eagle3", "dspark"]
"""Heads of the model's own for further tokens, or a draft model that reads its hidden states."""
MAX_DRAFT_TOKENS: Final = 16
USUAL_DRAFT_TOKENS: Final = 1
"""Where only a method is told: published pairs with multi-token heads are as much faster as one token makes them."""
WRITTEN_DRAFT: Final = re.compile(
    r"(?:(?P<method>eagle3(?!\d)|[a-z][a-z0-9_]*?)(?:[\s:_-](?=\d))?)?(?P<tokens>\d+)?", re.ASCII
)


class EngineSettings(NamedTuple):
    """What a server runs with where nobody sets anything.

    Attributes:
        memory_utilization: Share of the usable device memory that it takes, or, for its cache, of what is left free.
        max_num_seqs: Sequences that run at once.
        max_num_batched_tokens: Tokens of one step.
        undivided_context: The longest context of a model whose prompts no step divides: its steps take that many tokens
            at least. 0 where any prompt is divided.
    """

    memory_utilization: float
    max_num_seqs: int
    max_num_batched_tokens: int
    undivided_context: int = 0


class Engine(Strict):
    """A serving engine: where it runs and, where no row of `engine_defaults.csv` is closer, what it starts with."""

    id: str
    name: str
    architectures: tuple[str, ...]
    """GPU architectures that its documentation supports, plugins included."""
    schemes: tuple[str, ...]
    """Precision schemes it can load."""
    kv_precisions: tuple[str, ...]
    drafts: tuple[DraftMethod, ...] = ()
    """Methods of speculative decoding that its documentation has."""
    plannable: bool
    """Whether plans consider it."""
    serving: Serving = "continuous_batching"
    """Engines that serve alike are evidence for each other on a GPU."""
    memory_utilization: Annotated[float, Field(gt=0, le=1)]
    """What it is told by default: of usable memory, or of what is left free where calibration says so
    (`share_of_free_memory`)."""
    max_num_seqs: Count
    max_num_batched_tokens: Count
    newest_version: str
    """The newest stable release: what a plan assumes."""
    source: str
    as_of: date
    note: str = ""

    def runs(self, architecture: str, precision: str) -> bool:
        """Whether its documentation has weights of that precision on GPUs of that architecture."""
        return architecture in self.architectures and precision in self.schemes


class EngineDefault(Strict):
    """One setting that an engine starts with on some GPUs or in older releases, instead of what its row says."""

    engine: str
    setting: Setting
    before_version: str = ""
    """Of releases before that one; blank where it holds up to the newest."""
    gpu: str = "*"
    """A pattern of ids."""
    min_memory_gib: Annotated[float, Field(ge=0)] = 0.0
    """On devices with so much memory or more."""
    value: Annotated[float, Field(gt=0)]
    unit: str
    source: str
    as_of: date
    status: FigureStatus
    note: str = ""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        unit = UNITS[self.setting]
        if self.unit != unit:
            raise ValueError(f"{self.setting} is written in {unit}, not in '{self.unit}'")
        if self.value > 1 if unit == "share" else self.value % 1:
            raise ValueError(f"{self.setting} must be {'at most 1' if unit == 'share' else 'a whole number'}")
        return self


class Acceptance(Strict):
    """The tokens that a step of a model keeps of its own and of a draft's, as somebody counted them."""

    model: str
    method: DraftMethod
    draft_tokens: Count
    """Proposed in each step."""
    task: str
    """What was written: drafts guess code better than prose."""
    thinking: Literal["on", "off", ""] = ""
    run: str
    """Which of several counts of the same."""
    accepted_tokens: Annotated[float, Field(ge=1)]
    """A step, the model's own among them."""
    as_of: date
    source: str
    note: str = ""


class Draft(Strict):
    """Speculative decoding: tokens of each sequence that are proposed before a step, which verifies and keeps some."""

    method: DraftMethod
    draft_tokens: Annotated[int, Field(strict=True, ge=1, le=MAX_DRAFT_TOKENS)] = USUAL_DRAFT_TOKENS
    """Proposed for each step."""
    accepted_tokens: Annotated[float, Field(strict=True, ge=1)] | None = None
    """That a step yields, its own among them; None where the catalogs are to say what was counted."""

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, value: Any) -> Any:
        """Reads `eagle3:3`, or a method alone."""
        if not isinstance(value, str):
            return value
        parts = WRITTEN_DRAFT.fullmatch(value.strip().casefold())
        if parts is None or parts["method"] is None:
            raise ValueError("expected a method and how many tokens it drafts, such as eagle3:3")
        return {"method": parts["method"]} | ({"draft_tokens": int(parts["tokens"])} if parts["tokens"] else {})

    @model_validator(mode="after")
    def _keeps_no_more_than_there_is(self) -> Self:
        if (self.accepted_tokens or 1) > 1 + self.draft_tokens:
            raise ValueError(
                f"a step keeps {1 + self.draft_tokens} tokens at most: its own and the {self.draft_tokens} drafted"
            )
        return self

    @property
    def name(self) -> str:
        """As it is written."""
        return f"{self.method}:{self.draft_tokens}"


def draft_name(text: str) -> str:
    """A draft's name however it is written; none where there is none.

    Raises:
        ValueError: it names no draft.
    """
    return text and Draft.model_validate(text).name


def counted_drafts(rows: Iterable[Acceptance], model: str, most_tokens: int) -> tuple[Draft, ...]:
    """The drafts of a model, by its id, of which somebody counted what a step keeps, up to so many tokens."""
    kinds: dict[tuple[DraftMethod, int], list[Acceptance]] = {}
    for row in rows:
        if row.model == model and row.draft_tokens <= most_tokens:
            kinds.setdefault((row.method, row.draft_tokens), []).append(row)
    return tuple(
        Draft(method=method, draft_tokens=tokens, accepted_tokens=kept_tokens(kinds[method, tokens]))
        for method, tokens in sorted(kinds)
    )


def kept_tokens(rows: Iterable[Acceptance]) -> float:
    """What counts of one kind say together: their median."""
    return round(median(row.accepted_tokens for row in rows), 2)


class Device(NamedTuple):
    """What engines look at when they choose their defaults: a GPU's id and its memory in GiB."""

    gpu: str
    memory_gib: float


def settings_on(
    engine: Engine, device: Device, defaults: Iterable[EngineDefault], earlier: Sequence[str] = ()
) -> EngineSettings:
    """What an engine starts with on a device.

    The closest row counts: of the earliest limiting release first, then one that names the GPU, then the one that asks
    for most memory.

    Args:
        engine: Its own row, where none is closer.
        device: Where it runs.
        defaults: All rows of the catalog.
        earlier: The values of `before_version` that the release in question lies before, the first release first.
    """
    fitting = [
        row
        for row in defaults
        if row.engine == engine.id
        and (not row.before_version or row.before_version in earlier)
        and fnmatchcase(device.gpu, row.gpu)
        and row.min_memory_gib <= device.memory_gib
    ]
    # the farthest row first, so that closer ones replace it
    fitting.sort(key=lambda row: (_nearness(row, earlier), row.gpu != "*", row.min_memory_gib))
    closest = {row.setting: row.value for row in fitting}
    return EngineSettings(
        memory_utilization=closest.get("memory_utilization", engine.memory_utilization),
        max_num_seqs=int(closest.get("max_num_seqs", engine.max_num_seqs)),
        max_num_batched_tokens=int(closest.get("max_num_batched_tokens", engine.max_num_batched_tokens)),
        undivided_context=int(closest.get("undivided_context", 0)),
    )


def _nearness(row: EngineDefault, earlier: Sequence[str]) -> int:
    """0 for what holds up to the newest release, and the more the earlier the release that limits it."""
    return len(earlier) - earlier.index(row.before_version) if row.before_version else 0
