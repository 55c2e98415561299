"""A question on its way to an answer: where it is, what is known by then, and how it ended."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final, Literal, Self, TypeAlias

from optimizer.base.errors import Exit, Finding
from optimizer.serve.jobs.question import JobQuestion

State: TypeAlias = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED: Final[frozenset[State]] = frozenset({"done", "failed", "cancelled"})
STANDING: Final = frozenset({Exit.ANSWERED, Exit.BROKEN, Exit.NO_PLAN})
"""Exit codes of answers that nothing more would come of."""


@dataclass(frozen=True)
class JobProgress:
    """Where the work on a question is.

    Attributes:
        state: Of the job.
        phase: The step that has begun; empty before the first.
        step: How many steps are done.
        steps: Of how many.
        best_usd: What the best plan so far costs a month, where there is one.
        bound_usd: What no plan undercuts, once something is known of that.
    """

    state: State = "queued"
    phase: str = ""
    step: int = 0
    steps: int = 0
    best_usd: float | None = None
    bound_usd: float | None = None

    @property
    def gap(self) -> float | None:
        """How far the best plan may be above the cheapest, as a share of its cost."""
        if self.best_usd is None or self.bound_usd is None or self.best_usd <= 0:
            return None
        return max(0.0, 1.0 - self.bound_usd / self.best_usd)


@dataclass(frozen=True)
class JobAnswer:
    """How a question ended.

    Attributes:
        packed: The answer as it is kept, at about a fifth of its size; empty where there is none.
        exit_code: What the command would end with.
        findings: What is wrong with the question, where that is why there is no answer.
        problem: Any other reason, in a sentence.
        is_whole: Whether nothing was left out of it because a limit was reached.
    """

    packed: bytes
    exit_code: Exit
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    is_whole: bool = True

    @classmethod
    def of(cls, content: bytes, exit_code: Exit, *, is_whole: bool = True) -> Self:
        """An answer of that content."""
        return cls(zlib.compress(content), exit_code, is_whole=is_whole)

    @property
    def content(self) -> bytes:
        """JSON as the command writes it; empty where there is no answer."""
        return zlib.decompress(self.packed) if self.packed else b""

    @property
    def stands(self) -> bool:
        """Whether nothing more would come of another try."""
        return self.is_whole and self.exit_code in STANDING


@dataclass(eq=False)
class Job:
    """A question with its id. Only the service changes it.

    Attributes:
        id: The hash of what is asked and of the catalogs.
        question: What is asked.
        progress: Where it is.
        answer: How it ended; None until then, and where it was cancelled.
    """

    id: str
    question: JobQuestion
    progress: JobProgress = field(default_factory=JobProgress)
    answer: JobAnswer | None = None
    _asked_bytes: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._asked_bytes = len(self.question.scenario_text) + len(self.question.options.model_dump_json())

    @property
    def state(self) -> State:
        """Where it is, in a word."""
        return self.progress.state

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ENDED

    @property
    def stands(self) -> bool:
        """Whether whoever asks the same is given this job: it is under way, or nothing more would come of another."""
        return not self.ended or (self.answer is not None and self.answer.stands)

    @property
    def size_bytes(self) -> int:
        """About what is kept of it."""
        return self._asked_bytes + (len(self.answer.packed) if self.answer is not None else 0)

    def tell(self, progress: JobProgress) -> None:
        """Something is known now; whoever waits hears of it."""
        self.progress = progress
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def events(self) -> AsyncIterator[JobProgress]:
        """What is known now and whenever that changes, until the end; whoever is slow misses what is outdated."""
        told: JobProgress | None = None
        while True:
            changed = self._changed
            if self.progress != told:
                told = self.progress
                yield told
                continue
            if self.ended:
                return
            await changed.wait()

    async def wait(self, seconds: float) -> bool:
        """Whether it ended within that time."""
        try:
            async with asyncio.timeout(seconds):
                async for _ in self.events():
                    pass
        except TimeoutError:
            pass
        return self.ended
