"""What a tool answers: a sentence, then as much of the answer as an agent reads at once, and where the rest begins."""

from typing import Final

from pydantic import Field

from optimizer.base.errors import Exit, Finding, InputError
from optimizer.base.model import Strict
from optimizer.serve.agents.tools import Reading
from optimizer.serve.jobs.question import OPTIONS

MAX_CHARACTERS: Final = 16_000
"""Of an answer at once: a few pages."""


class Excerpt(Strict):
    """An answer, or the part of it that was asked for."""

    summary: str = Field(description="The answer in a sentence.")
    exit_code: int = Field(
        description="Of the command: 0 answered, 1 a promise or budget is broken, 3 no plan meets the scenario, "
        "4 a limit of time or memory came before the proof."
    )
    answer: str = Field(description="In the form asked for, from `from_character` on.")
    characters: int = Field(description="How many the whole answer has.")
    next_from_character: int | None = Field(
        description="To be given as `from_character` with the same arguments for what follows; null at the end."
    )

    @property
    def text(self) -> str:
        """All of it for reading: the sentence first, unless the answer begins with it, and how to get the rest."""
        rest = ""
        if self.next_from_character is not None:
            rest = (
                f"\n\n[{len(self.answer):,} of {self.characters:,} characters. For what follows, call again with the "
                f"same arguments and from_character={self.next_from_character}; nothing is solved again.]"
            )
        return f"{self.summary}\n\n{self.answer.rstrip()}{rest}"


def excerpt(summary: str, exit_code: Exit, whole: str, reading: Reading) -> Excerpt:
    """The part of an answer that is to be read, cut between two lines where it is long.

    Raises:
        InputError: the answer has ended before.
    """
    start = reading.from_character
    if start > len(whole):
        hint = f"the answer has {len(whole):,} characters"
        raise InputError([Finding(OPTIONS, 0, "from_character", "is behind the end of the answer", hint)])
    end = start + MAX_CHARACTERS
    end = len(whole) if end >= len(whole) else whole.rfind("\n", start, end) + 1 or end
    return Excerpt(
        summary=summary,
        exit_code=int(exit_code),
        answer=whole[start:end],
        characters=len(whole),
        next_from_character=None if end == len(whole) else end,
    )
