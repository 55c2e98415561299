"""A replica's prefix cache: blocks of prompts stay in memory after their requests, until running ones need the room.

A prompt is found as far as its first blocks are in memory, held by running requests or by nobody. Blocks that nobody
holds are given up least recently used first, the last ones of a prompt before its first: the block pool of vLLM
(https://docs.vllm.ai/en/stable/design/prefix_caching.html). Answers stay in memory, too, but a trace does not say which
prompts go on from them, so they are never found.
"""

from collections import OrderedDict
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PrefixWork:
    """N prompts by how many of their blocks are found.

    Attributes:
        block_tokens: Tokens of a block.
        blocks: Of each prompt.
        prompt_tokens: Of each.
        first_row: Of each prompt, where the next two have it with none of its blocks found; with one the next row, and
            so on for as many as an earlier prompt has.
        attention_s: Attention over what is left to compute, on the engine.
        first_token_s: From the start of the prompt alone on an idle replica to its first token.
        most_found: Blocks for which there is a row, of each prompt.
        token_bytes: KV cache of a token that nobody holds.
        shared_bytes: Of it in layers that see the whole context: what each request after the first saves that holds
            the same token.
    """

    block_tokens: int
    blocks: list[list[int]]
    prompt_tokens: list[int]
    first_row: list[int]
    attention_s: list[float]
    first_token_s: list[float]
    most_found: list[int]
    token_bytes: float
    shared_bytes: float


@dataclass
class PrefixCache:
    """What one replica has in memory of prompts that it was asked."""

    work: PrefixWork
    holders: dict[int, int] = field(default_factory=dict)
    """Block -> running requests that hold it."""
    idle: OrderedDict[int, float] = field(default_factory=OrderedDict)
    """Block that nobody holds -> its bytes, the least recently used first; answers by −1 − request."""
    idle_bytes: float = 0.0

    def saved_bytes(self, request: int) -> float:
        """What a request need not bring room for, since running requests hold it."""
        held = 0
        for block in self.work.blocks[request]:
            if block not in self.holders:
                break
            held += 1
        return self._saved(request, held)

    def blocks_found(self, request: int) -> int:
        """How many of a prompt's first blocks are in memory."""
        found, holders, idle = 0, self.holders, self.idle
        for block in self.work.blocks[request]:
            if block not in holders and block not in idle:
                break
            found += 1
        return min(found, self.work.most_found[request])

    def take(self, request: int, room_bytes: float) -> int:
        """A request starts and holds its blocks; how many of them were found.

        Args:
            request: Which one.
            room_bytes: What running requests, this one among them, leave free.
        """
        found, holders, idle = self.blocks_found(request), self.holders, self.idle
        for block in self.work.blocks[request]:
            held = holders.get(block, 0)
            holders[block] = held + 1
            if not held:
                self.idle_bytes -= idle.pop(block, 0.0)
        self.trim(room_bytes)
        return found

    def release(self, request: int, answer_bytes: float) -> float:
        """A request gives up its blocks, which stay; what it held together with others, bytes."""
        work, holders, idle = self.work, self.holders, self.idle
        blocks = work.blocks[request]
        if answer_bytes > 0:
            idle[-1 - request] = answer_bytes
            self.idle_bytes += answer_bytes
        whole_bytes, kept = work.block_tokens * work.token_bytes, 0
        for block in reversed(blocks):
            others = holders[block] - 1
            if others:
                holders[block] = others
            else:
                del holders[block]
                idle[block] = whole_bytes
                kept += 1
        self.idle_bytes += kept * whole_bytes
        if (last := blocks[-1]) in idle:
            # the last one of a prompt may have fewer tokens
            missing = len(blocks) * work.block_tokens - work.prompt_tokens[request]
            idle[last] -= missing * work.token_bytes
            self.idle_bytes -= missing * work.token_bytes
        return self._saved(request, len(blocks) - kept)

    def trim(self, room_bytes: float) -> None:
        """Blocks that nobody holds are given up until the others fit."""
        idle = self.idle
        while idle and self.idle_bytes > room_bytes:
            self.idle_bytes -= idle.popitem(last=False)[1]

    def _saved(self, request: int, blocks: int) -> float:
        """Bytes of so many blocks at a prompt's beginning that others hold."""
        tokens = min(blocks * self.work.block_tokens, self.work.prompt_tokens[request])
        return tokens * self.work.shared_bytes
