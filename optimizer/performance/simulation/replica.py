"""One replica from the first request to the last: continuous batching, event by event.

Prompts are taken first come, first served, in chunks that fill what the running sequences leave of a step's tokens; a
prompt starts when its KV cache fits and the engine runs fewer sequences than it may. Where no prompt waits the batch
is constant until the next arrival, the next finished answer or a full cache, and all decode steps up to there are one
jump; so are the steps that one long prompt fills by itself. A full cache takes the sequence that was admitted last
back to the queue, where it is computed again: the scheduler of vLLM,
https://docs.vllm.ai/en/stable/configuration/optimization.html (preemption). Of prompts whose blocks are known only what
the prefix cache does not hold is computed.
"""

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.performance.simulation.costs import ReplicaCosts, Work
from optimizer.performance.simulation.prefix_cache import PrefixCache
from optimizer.performance.simulation.prompts import Prompt, attention_with, share_of_square


@dataclass(frozen=True)
class Served:
    """When each of N requests was answered, and how busy the replica was.

    Attributes:
        first_token_s: (N,) on the clock of the arrivals; infinite for a request that never fits.
        finished_s: (N,) the last token.
        cached_tokens: (N,) of the prompt that were in the prefix cache.
        preempted: How often a running sequence was taken back to the queue.
        busy_s: Seconds in which the engine ran steps.
        sequence_s: Running sequences added up over time.
    """

    first_token_s: Floats
    finished_s: Floats
    cached_tokens: Ints
    preempted: int
    busy_s: float
    sequence_s: float


def serve(costs: ReplicaCosts, arrived_s: Floats, work: Work, *, by_single_steps: bool = False) -> Served:
    """Every request served, in the order of arrival.

    Args:
        costs: The replica.
        arrived_s: (N,) when each request arrives, rising.
        work: What each asks.
        by_single_steps: Whether decode steps are taken one by one: slower, and what jumps are tested against.
    """
    replica = Replica(costs, work, arrived_s.tolist(), longest_jump=1 if by_single_steps else None)
    replica.run()
    return replica.served(np.arange(len(arrived_s)))


@dataclass(slots=True)
class Replica:
    """The state between two steps, in slots, since every event reads and writes most of it.

    `step` counts decode steps, so that a running sequence is known by the step in which it ends. Requests arrive at
    the times that are given, or are handed over one by one with `take`.
    """

    costs: ReplicaCosts
    work: Work
    arrived_s: list[float] = field(default_factory=list)
    longest_jump: int | None = None
    until_s: float = np.inf
    """Beyond which no jump goes, but for the step that is under way then."""
    now_s: float = 0.0
    step: int = 0
    next_arrival: int = 0
    queue: deque[int] = field(default_factory=deque)
    prompts: deque[Prompt] = field(default_factory=deque)
    ends: list[tuple[int, int]] = field(default_factory=list)
    """Heap of (step, request) of the running sequences."""
    started: dict[int, int] = field(default_factory=dict)
    """Running request -> decode step at which it had its first token, the latest admitted last."""
    context: float = 0.0
    """Tokens that the running sequences hold, added up."""
    held_bytes: float = 0.0
    growth_bytes: float = 0.0
    """By which the cache grows with a decode step."""
    preempted: int = 0
    busy_s: float = 0.0
    sequence_s: float = 0.0
    answered: dict[int, int] = field(default_factory=dict)
    """Steps that answers of preempted requests had already taken."""
    first_token_s: list[float] = field(init=False)
    finished_s: list[float] = field(init=False)
    new_tokens: list[int] = field(init=False)
    cached_tokens: list[int] = field(init=False)
    answer_steps: list[int] = field(init=False)
    prompt_attention_s: list[float] = field(init=False)
    start_bytes: list[float] = field(init=False)
    grows_bytes: list[float] = field(init=False)
    alone_s: list[float] = field(init=False)
    """How much later than its step a token is out: what a prompt takes that does not hold up the engine."""
    found_tokens: Ints = field(init=False)
    """Of each prompt, in the prefix cache when it was first started."""
    prefixes: PrefixCache | None = field(init=False)

    def __post_init__(self) -> None:
        work = self.work
        count = len(work.new_tokens)
        self.first_token_s, self.finished_s = [np.inf] * count, [np.inf] * count
        self.new_tokens, self.cached_tokens = work.new_tokens.tolist(), work.cached_tokens.tolist()
        self.answer_steps, self.prompt_attention_s = work.answer_steps.tolist(), work.attention_s.tolist()
        self.start_bytes, self.grows_bytes = work.start_bytes.tolist(), work.growth_bytes.tolist()
        self.alone_s = self._latency_alone()
        self.prefixes = None if work.prefixes is None else PrefixCache(work.prefixes)
        self.found_tokens = work.cached_tokens.copy()

    def _latency_alone(self) -> list[float]:
        """(N,) how much later than its step a token is out: what a prompt takes that does not hold up the engine."""
        held = list(map(self._computed_alone, self.new_tokens, self.prompt_attention_s))
        alone: list[float] = np.maximum(self.work.first_token_s - np.array(held), 0.0).tolist()
        return alone

    def _computed_alone(self, tokens: int, attention_s: float) -> float:
        """Seconds for a prompt: chunks that fill a step each, and the one that completes it."""
        costs = self.costs
        full = costs.chunks(tokens) - 1
        chunks_s = full * costs.added(0, costs.max_tokens, 0) + costs.added(0, tokens - full * costs.max_tokens, 1)
        return (chunks_s + attention_s) * costs.held_up(full + 1)

    @property
    def in_flight(self) -> int:
        """Requests that wait, are read, or are answered."""
        return len(self.queue) + len(self.prompts) + len(self.ends)

    def take(self, request: int, at_s: float) -> None:
        """A request more, asked at a time up to which the replica has run."""
        if not self.in_flight:
            self.now_s = max(self.now_s, at_s)
        self.queue.append(request)

    def served(self, requests: Ints) -> Served:
        """What became of these requests, and how busy it was."""
        first, finished = np.array(self.first_token_s)[requests], np.array(self.finished_s)[requests]
        return Served(first, finished, self.found_tokens[requests], self.preempted, self.busy_s, self.sequence_s)

    def run(self, until_s: float = np.inf) -> None:
        """Steps and jumps until nobody waits and nothing runs, or until the first step that ends after that time."""
        self.until_s = until_s
        while self.now_s < until_s:
            self._arrivals()
            self._admit()
            if self.prompts:
                self._step_with_prompts()
            elif self.ends:
                self._jump()
            elif self.next_arrival < len(self.arrived_s):
                self.now_s = self.arrived_s[self.next_arrival]
            else:
                return

    def _arrivals(self) -> None:
        arrived, now, place = self.arrived_s, self.now_s, self.next_arrival
        while place < len(arrived) and arrived[place] <= now:
            self.queue.append(place)
            place += 1
        self.next_arrival = place

    def _admit(self) -> None:
        """Waiting prompts start while their cache fits and the engine may run one more sequence."""
        costs = self.costs
        while self.queue:
            request = self.queue[0]
            again = self.answered.get(request, 0)
            needed = self.start_bytes[request] + again * self.grows_bytes[request]
            if self.prefixes is not None:
                needed -= self.prefixes.saved_bytes(request)
            alone = not self.ends and not self.prompts
            if needed > costs.cache_bytes and alone:
                self.queue.popleft()
                continue
            if (
                self.held_bytes + needed > costs.cache_bytes
                or len(self.ends) + len(self.prompts) >= costs.max_sequences
            ):
                return
            self.queue.popleft()
            self.held_bytes += needed
            if self.prefixes is not None:
                self._find(self.prefixes, request, again)
            written = self._tokens(again)
            tokens = self.new_tokens[request] + round(written)
            attention_s = self.prompt_attention_s[request]
            if again:
                attention_s *= attention_with(written, self.new_tokens[request], self.cached_tokens[request])
            self.prompts.append(Prompt(request, tokens, attention_s))

    def _find(self, prefixes: PrefixCache, request: int, again: int) -> None:
        """A prompt starts: what of it is in memory need not be computed."""
        work = prefixes.work
        blocks = prefixes.take(request, self.costs.cache_bytes - self.held_bytes)
        row, prompt = work.first_row[request] + blocks, work.prompt_tokens[request]
        found = min(blocks * work.block_tokens, prompt - 1)
        self.new_tokens[request], self.cached_tokens[request] = prompt - found, found
        self.prompt_attention_s[request] = work.attention_s[row]
        if not again:
            self.found_tokens[request] = found
            held_s = self._computed_alone(prompt - found, work.attention_s[row])
            self.alone_s[request] = max(work.first_token_s[row] - held_s, 0.0)

    def _step_with_prompts(self) -> None:
        """One step of the running sequences and as much of the prompts as fits beside them."""
        costs, running = self.costs, len(self.ends)
        left, taken, longest, attention_s, complete = max(costs.max_tokens - running * costs.verified, 1), 0, 0, 0.0, []
        if (steps := self._steps_filled(left)) > 1:
            self._read_on(steps, left)
            return
        while self.prompts and left:
            prompt = self.prompts[0]
            longest = max(longest, prompt.tokens)
            chunk = min(prompt.tokens - prompt.computed, left)
            behind = self.cached_tokens[prompt.request]
            attention_s += prompt.attention_s * share_of_square(behind, prompt.computed, chunk, prompt.tokens)
            prompt.computed, left, taken = prompt.computed + chunk, left - chunk, taken + chunk
            if prompt.computed < prompt.tokens:
                break
            complete.append(self.prompts.popleft().request)
        added = costs.added(running, taken, len(complete)) + attention_s
        decode = costs.decode(running, self.context / running) if running else 0.0
        self._pass(decode + added * costs.held_up(costs.chunks(longest)), steps=1)
        for request in complete:
            # an engine that prefills apart answers a prompt before the others' step, in which it runs already
            self.alone_s[request] -= (1 - costs.mixed) * decode
            self._start(request)

    def _steps_filled(self, tokens: int) -> int:
        """Steps of so many `tokens` that the first prompt fills without being complete, before any answer ends."""
        first = self.prompts[0]
        steps = (first.tokens - first.computed - 1) // tokens
        if self.ends:
            steps = min(steps, self.ends[0][0] - self.step)
        return min(steps, self.longest_jump or steps)

    def _read_on(self, steps: int, tokens: int) -> None:
        """Steps with so many `tokens` each of the first prompt, up to the first that ends after the next arrival.

        Each takes longer than the one before, so that of some of them the mean of all is no less than their own.
        """
        seconds, until_s = self._seconds_reading(steps, tokens), self._next_s
        if not self.queue and self.now_s + seconds > until_s:
            steps = min(steps, int((until_s - self.now_s) / seconds * steps) + 1)
            seconds = self._seconds_reading(steps, tokens)
        self.prompts[0].computed += steps * tokens
        self._pass(seconds, steps)

    def _seconds_reading(self, steps: int, tokens: int) -> float:
        """What so many steps with `tokens` each of the first prompt take, the context of the middle for all of them."""
        costs, running, first = self.costs, len(self.ends), self.prompts[0]
        behind = self.cached_tokens[first.request]
        share = share_of_square(behind, first.computed, steps * tokens, first.tokens)
        added = steps * costs.added(running, tokens, 0) + first.attention_s * share
        decode = costs.decode(running, self.context / running + (steps - 1) * costs.kept / 2) if running else 0.0
        return steps * decode + added * costs.held_up(costs.chunks(first.tokens))

    @property
    def _next_s(self) -> float:
        """When the next request arrives, or beyond which no jump goes."""
        comes = self.next_arrival < len(self.arrived_s)
        return self.arrived_s[self.next_arrival] if comes else self.until_s

    def _start(self, request: int) -> None:
        """A prompt is computed: its first token is out, the others follow step by step."""
        again = self.answered.pop(request, 0)
        if not again:
            self.first_token_s[request] = self.now_s + self.alone_s[request]
        left = self.answer_steps[request] - again - 1
        held = self.new_tokens[request] + self.cached_tokens[request] + self._tokens(again + 1)
        self.held_bytes += self.grows_bytes[request]
        if left <= 0:
            self.finished_s[request] = self.now_s + self.alone_s[request]
            self._give_back(request, again + 1)
            return
        heappush(self.ends, (self.step + left, request))
        self.started[request] = self.step - again
        self.context += held
        self.growth_bytes += self.grows_bytes[request]

    def _tokens(self, steps: int) -> float:
        """Tokens that so many steps of an answer write, its first one among them."""
        return steps and 1 + (steps - 1) * self.costs.kept

    def _jump(self) -> None:
        """Decode steps up to the next event; the context of the middle stands for all of them."""
        costs, running = self.costs, len(self.ends)
        room = (costs.cache_bytes - self.held_bytes) / self.growth_bytes if self.growth_bytes > 0 else np.inf
        if room < 1 and running > 1:
            self._preempt()
            return
        steps = min(self.ends[0][0] - self.step, self.longest_jump or self.ends[0][0])
        if room >= 1:
            steps = min(steps, int(min(room, steps)))
        mean, until_s = self.context / running, self._next_s
        if not self.queue and until_s < np.inf:
            until = (until_s - self.now_s) / costs.decode(running, mean)
            steps = min(steps, max(int(until) + 1, 1))
        self._pass(steps * costs.decode(running, mean + (steps - 1) * costs.kept / 2), steps)

    def _pass(self, seconds: float, steps: int) -> None:
        """Time goes by, every running sequence gains the tokens of `steps`, and those that are complete leave."""
        running = len(self.ends)
        self.now_s += seconds
        self.busy_s += seconds
        self.sequence_s += running * seconds
        if not running:
            return
        self.step += steps
        self.context += running * steps * self.costs.kept
        self.held_bytes += self.growth_bytes * steps
        while self.ends and self.ends[0][0] <= self.step:
            self._finish(heappop(self.ends)[1])

    def _finish(self, request: int) -> None:
        self.finished_s[request] = self.now_s + self.alone_s[request]
        self._leave(request, self.answer_steps[request])

    def _leave(self, request: int, answered: int) -> None:
        """A running sequence gives back what it holds."""
        del self.started[request]
        self.context -= self.new_tokens[request] + self.cached_tokens[request] + self._tokens(answered)
        self._give_back(request, answered)
        self.growth_bytes -= self.grows_bytes[request]

    def _give_back(self, request: int, answered: int) -> None:
        """The room of a request is free; in a prefix cache its tokens stay there until it is needed."""
        answer_bytes = answered * self.grows_bytes[request]
        if self.prefixes is not None:
            # what ran until now left no more room than this
            self.prefixes.trim(self.costs.cache_bytes - self.held_bytes)
            self.held_bytes += self.prefixes.release(request, answer_bytes)
        self.held_bytes -= self.start_bytes[request] + answer_bytes

    def _preempt(self) -> None:
        """The sequence that was admitted last gives up its cache and waits to be computed again."""
        request = next(reversed(self.started))
        answered = self.step - self.started[request] + 1
        self.ends.remove((self.started[request] + self.answer_steps[request] - 1, request))
        self.ends.sort()
        self._leave(request, answered)
        self.answered[request] = answered
        self.queue.appendleft(request)
        self.preempted += 1
