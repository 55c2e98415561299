"""Prompts of a trace as chains of hashed blocks: how many of them begin as earlier ones did."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Ints

USUAL_TOKENS: Final = 512
"""Of a block, in Mooncake's traces; where lengths leave several sizes possible it is this one."""


@dataclass(frozen=True)
class PromptBlocks:
    """Blocks of N prompts in the order of arrival; a block's number stands for its tokens and all before them.

    Attributes:
        block_tokens: Tokens of a block; the last of a prompt may have fewer.
        numbers: (B,) the blocks of all prompts, one prompt after the other.
        ends: (N,) how many blocks the prompts up to each have together.
        repeated: (N,) blocks at a prompt's beginning that an earlier prompt has, too: what a cache finds that is shared
            by all and forgets nothing.
    """

    block_tokens: int
    numbers: Ints
    ends: Ints
    repeated: Ints

    def of(self, requests: Ints) -> "PromptBlocks":
        """Those of some prompts, which still repeat what any of all had before."""
        begins, counts = (self.ends - np.diff(self.ends, prepend=0))[requests], self._counts[requests]
        ends = np.cumsum(counts)
        # (block of those prompts,) -> its place among all
        place = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
        numbers = self.numbers[np.repeat(begins, counts) + place]
        return PromptBlocks(self.block_tokens, numbers, ends, self.repeated[requests])

    def each(self) -> list[list[int]]:
        """The numbers of every prompt."""
        numbers, ends = self.numbers.tolist(), self.ends.tolist()
        return [numbers[first:last] for first, last in zip([0, *ends], ends, strict=False)]

    def repeated_tokens(self, input_tokens: Ints) -> Ints:
        """(N,) tokens of the blocks that an earlier prompt has, too; the last token of a prompt is always computed."""
        tokens: Ints = np.minimum(self.repeated * self.block_tokens, input_tokens - 1)
        return tokens

    @property
    def _counts(self) -> Ints:
        counts: Ints = np.diff(self.ends, prepend=0)
        return counts


def prompt_blocks(hashes: Sequence[Sequence[object]], input_tokens: Ints) -> PromptBlocks:
    """Numbered blocks of prompts.

    Args:
        hashes: Of each prompt its blocks, at least one: names of their tokens and all before them.
        input_tokens: (N,) of the prompts.

    Raises:
        ValueError: no size of blocks fits all prompts, or a block does not stand for all before it.
    """
    number: dict[object, int] = {}
    numbers = np.array([number.setdefault(name, len(number)) for each in hashes for name in each], dtype=np.int64)
    counts = np.array([len(each) for each in hashes], dtype=np.int64)
    ends = np.cumsum(counts)
    _check_chains(numbers, ends - counts)
    return PromptBlocks(tokens_of_block(counts, input_tokens), numbers, ends, _repeated(numbers, counts, ends))


def chained(block_tokens: int, input_tokens: Ints, back: Ints, same: Ints) -> PromptBlocks:
    """Numbered blocks of prompts that begin as others before them do.

    Args:
        block_tokens: Of a block.
        input_tokens: (N,) of the prompts.
        back: (N,) how many prompts before each the one came that begins with the same blocks.
        same: (N,) how many blocks these are; 0 where none does.
    """
    prompts: list[list[int]] = []
    counts = -(-input_tokens // block_tokens)
    first_new = np.cumsum(counts - same) - (counts - same)
    begins = zip(counts.tolist(), first_new.tolist(), back.tolist(), same.tolist(), strict=True)
    for number, (count, new, before, alike) in enumerate(begins):
        own = prompts[number - before][:alike] if alike else []
        prompts.append([*own, *range(new, new + count - alike)])
    numbers = np.array([block for each in prompts for block in each], dtype=np.int64)
    return PromptBlocks(block_tokens, numbers, np.cumsum(counts), same)


def tokens_of_block(counts: Ints, input_tokens: Ints) -> int:
    """The size of which so many blocks hold the prompts, the last of each full or not.

    Args:
        counts: (N,) blocks, at least one each.
        input_tokens: (N,) of the prompts.

    Raises:
        ValueError: there is none.
    """
    # a prompt of n tokens in k blocks: (k − 1) · size < n ≤ k · size
    least = int(np.max(-(-input_tokens // counts)))
    several: Flags = counts > 1
    most = int(np.min((input_tokens[several] - 1) // (counts[several] - 1), initial=np.iinfo(np.int64).max))
    if least > most:
        raise ValueError("blocks of one size do not hold all prompts")
    power = 1 << (least - 1).bit_length()
    return USUAL_TOKENS if least <= USUAL_TOKENS <= most else power if power <= most else least


def _check_chains(numbers: Ints, begins: Ints) -> None:
    """Refuses blocks that are named by their own tokens alone: the same name behind different blocks."""
    behind = np.concatenate([[-1], numbers[:-1]])
    behind[begins] = -1
    _, first, same = np.unique(numbers, return_index=True, return_inverse=True)
    if np.any(behind[first][same] != behind):
        raise ValueError("a block stands behind different ones, so its name is not one of all tokens before it")


def _repeated(numbers: Ints, counts: Ints, ends: Ints) -> Ints:
    """(N,) blocks at the beginning of each prompt that an earlier one has."""
    prompt = np.repeat(np.arange(len(counts)), counts)
    _, first, same = np.unique(numbers, return_index=True, return_inverse=True)
    before: Flags = prompt[first][same] < prompt
    # (block,) -> its place in its prompt where it is new, the prompt's length where it is not
    place = np.arange(len(numbers)) - np.repeat(ends - counts, counts)
    new = np.where(before, np.repeat(counts, counts), place)
    repeated: Ints = np.minimum.reduceat(new, ends - counts)
    return repeated
