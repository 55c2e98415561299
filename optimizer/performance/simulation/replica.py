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
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.performance.simulation.costs import ReplicaCosts, Work
from optimizer.performance.simulation.prefix_cache import PrefixCache
from optimizer.performance.simulation.prompts import Prompt, attention_with, read, seconds_reading

NOTHING: Final[Sequence[int]] = ()


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
    """The state between two calls of `run`, which has what every event reads and writes in names of its own meanwhile.

    `step` counts decode steps, so that a running sequence is known by the step in which it ends. Requests arrive at
    the times that are given, or are handed over one by one with `take`.
    """

    costs: ReplicaCosts
    work: Work
    arrived_s: list[float] = field(default_factory=list)
    longest_jump: int | None = None
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
        tokens, attention_s = self.work.new_tokens, self.work.attention_s
        full = (tokens - 1) // self.costs.max_tokens
        full_s = self.costs.added(0, self.costs.max_tokens, 0)
        held_up = np.array([self.costs.held_up(chunks + 1) for chunks in range(int(full.max(initial=0)) + 1)])[full]
        rest_tokens = tokens - full * self.costs.max_tokens
        rest_s = np.array(self.costs.pass_s)[rest_tokens] + self.costs.floor_s + self.costs.head_s[1]
        held_s = (full * full_s + rest_s + attention_s) * held_up
        alone: list[float] = np.maximum(self.work.first_token_s - held_s, 0.0).tolist()
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
        """Steps and jumps until nobody waits and nothing runs, or until the first step that ends after that time.

        One loop over names of its own, without `min` and `max`: they and looking up the state at every event take more
        than half of the time, and calls of methods for its parts some of it.
        """
        if self.now_s >= until_s or not (self.in_flight or self.next_arrival < len(self.arrived_s)):
            return
        costs, queue, prompts, ends, started = self.costs, self.queue, self.prompts, self.ends, self.started
        new, cached, start_bytes, grows_bytes = self.new_tokens, self.cached_tokens, self.start_bytes, self.grows_bytes
        answer_steps, answered, prefixes, longest = self.answer_steps, self.answered, self.prefixes, self.longest_jump
        first_s, finished_s, alone_s, decode = self.first_token_s, self.finished_s, self.alone_s, costs.decode
        max_tokens, verified, kept, cache_bytes = costs.max_tokens, costs.verified, costs.kept, costs.cache_bytes
        arrived, count, place, now, step = self.arrived_s, len(self.arrived_s), self.next_arrival, self.now_s, self.step
        context, held, growth = self.context, self.held_bytes, self.growth_bytes
        reading_s, max_sequences = self.prompt_attention_s, costs.max_sequences
        busy_s, sequence_s, apart, at_once = self.busy_s, self.sequence_s, 1 - costs.mixed, costs.held_up(1)
        while now < until_s:
            while place < count and arrived[place] <= now:
                queue.append(place)
                place += 1
            running, complete = len(ends), NOTHING
            # waiting prompts start while their cache fits and the engine may run one more sequence
            while queue:
                request = queue[0]
                again = answered.get(request, 0) if answered else 0
                needed = start_bytes[request] + again * grows_bytes[request]
                if prefixes is not None:
                    needed -= prefixes.saved_bytes(request)
                if needed > cache_bytes and not running and not prompts:
                    queue.popleft()
                    continue
                if held + needed > cache_bytes or running + len(prompts) >= max_sequences:
                    break
                queue.popleft()
                held += needed
                if prefixes is not None:
                    self._find(prefixes, request, again, held)
                prompts.append(
                    self._again(request, again) if again else Prompt(request, new[request], reading_s[request])
                )
            # when the next request arrives, or beyond which no jump goes
            next_s = arrived[place] if place < count else until_s
            if prompts:
                left = max_tokens - running * verified
                if left < 1:
                    left = 1
                mean = context / running if running else 0.0
                first = prompts[0]
                unread = first.tokens - first.computed
                if unread > 2 * left and (steps := self._steps_filled(left, step)) > 1:
                    steps, seconds = self._read_on(steps, left, mean, now, next_s)
                else:
                    steps, decode_s = 1, decode(running, mean) if running else 0.0
                    if first.computed or unread > left or len(prompts) > 1:
                        added_s, complete = read(costs, prompts, cached, left, running)
                        seconds = decode_s + added_s
                    else:
                        # one prompt that fits, as most are
                        complete = (prompts.popleft().request,)
                        seconds = decode_s + (costs.added(running, unread, 1) + first.attention_s) * at_once
            elif ends:
                room = (cache_bytes - held) / growth if growth > 0 else np.inf
                if room < 1 and running > 1:
                    context, held, growth = self._preempt(step, context, held, growth)
                    continue
                steps, mean = ends[0][0] - step, context / running
                if longest is not None and steps > longest:
                    steps = longest
                if 1 <= room < steps:
                    steps = int(room)
                if not queue and next_s < np.inf:
                    until = int((next_s - now) / decode(running, mean)) + 1
                    if until < steps:
                        steps = until if until > 1 else 1
                # the context of the middle stands for all of them
                seconds = steps * decode(running, mean + (steps - 1) * kept / 2)
            elif place < count:
                now = arrived[place]
                continue
            else:
                break
            now += seconds
            busy_s += seconds
            if running:
                sequence_s += running * seconds
                step += steps
                context += running * steps * kept
                held += growth * steps
                while ends and ends[0][0] <= step:
                    request = heappop(ends)[1]
                    finished_s[request] = now + alone_s[request]
                    del started[request]
                    steps, grows = answer_steps[request], grows_bytes[request]
                    context -= new[request] + cached[request] + (1 + (steps - 1) * kept)
                    if prefixes is None:
                        held -= start_bytes[request] + steps * grows
                    else:
                        held = self._give_back(request, steps, held)
                    growth -= grows
            for request in complete:
                # an engine that prefills apart answers a prompt before the others' step, in which it runs already
                alone_s[request] -= apart * decode_s
                again = answered.pop(request, 0)
                if not again:
                    first_s[request] = now + alone_s[request]
                steps, grows = answer_steps[request] - again - 1, grows_bytes[request]
                held += grows
                if steps <= 0:
                    finished_s[request] = now + alone_s[request]
                    held = self._give_back(request, again + 1, held)
                    continue
                heappush(ends, (step + steps, request))
                started[request] = step - again
                context += new[request] + cached[request] + (1 + again * kept)
                growth += grows
        self.next_arrival, self.now_s, self.step = place, now, step
        self.context, self.held_bytes, self.growth_bytes = context, held, growth
        self.busy_s, self.sequence_s = busy_s, sequence_s

    def _again(self, request: int, answered: int) -> Prompt:
        """A prompt that is computed with what of its answer was written before it was taken back."""
        written, tokens = self._tokens(answered), self.new_tokens[request]
        attention_s = self.prompt_attention_s[request] * attention_with(written, tokens, self.cached_tokens[request])
        return Prompt(request, tokens + round(written), attention_s)

    def _find(self, prefixes: PrefixCache, request: int, again: int, held: float) -> None:
        """A prompt starts: what of it is in memory need not be computed."""
        work = prefixes.work
        blocks = prefixes.take(request, self.costs.cache_bytes - held)
        row, prompt = work.first_row[request] + blocks, work.prompt_tokens[request]
        found = min(blocks * work.block_tokens, prompt - 1)
        self.new_tokens[request], self.cached_tokens[request] = prompt - found, found
        self.prompt_attention_s[request] = work.attention_s[row]
        if not again:
            self.found_tokens[request] = found
            held_s = self._computed_alone(prompt - found, work.attention_s[row])
            self.alone_s[request] = max(work.first_token_s[row] - held_s, 0.0)

    def _steps_filled(self, tokens: int, step: int) -> int:
        """Steps of so many `tokens` that the first prompt fills without being complete, before any answer ends."""
        first = self.prompts[0]
        steps = (first.tokens - first.computed - 1) // tokens
        if self.ends:
            steps = min(steps, self.ends[0][0] - step)
        return min(steps, self.longest_jump or steps)

    def _read_on(self, steps: int, tokens: int, context: float, now: float, next_s: float) -> tuple[int, float]:
        """Steps with so many `tokens` each of the first prompt, up to the first that ends after the next arrival.

        Each takes longer than the one before, so that of some of them the mean of all is no less than their own.
        """
        first, running = self.prompts[0], len(self.ends)
        behind = self.cached_tokens[first.request]
        seconds = seconds_reading(self.costs, first, behind, steps, tokens, running, context)
        if not self.queue and now + seconds > next_s:
            steps = min(steps, int((next_s - now) / seconds * steps) + 1)
            seconds = seconds_reading(self.costs, first, behind, steps, tokens, running, context)
        first.computed += steps * tokens
        return steps, seconds

    def _tokens(self, steps: int) -> float:
        """Tokens that so many steps of an answer write, its first one among them."""
        return steps and 1 + (steps - 1) * self.costs.kept

    def _give_back(self, request: int, answered: int, held: float) -> float:
        """What is held without a request; in a prefix cache its tokens stay there until their room is needed."""
        answer_bytes = answered * self.grows_bytes[request]
        if self.prefixes is not None:
            # what ran until now left no more room than this
            self.prefixes.trim(self.costs.cache_bytes - held)
            held += self.prefixes.release(request, answer_bytes)
        return held - (self.start_bytes[request] + answer_bytes)

    def _preempt(self, step: int, context: float, held: float, growth: float) -> tuple[float, float, float]:
        """The sequence that was admitted last gives up its cache and waits to be computed again; what others hold."""
        request, begun = self.started.popitem()
        answered = step - begun + 1
        self.ends.remove((begun + self.answer_steps[request] - 1, request))
        self.ends.sort()
        self.answered[request] = answered
        self.queue.appendleft(request)
        self.preempted += 1
        context -= self.new_tokens[request] + self.cached_tokens[request] + self._tokens(answered)
        return context, self._give_back(request, answered, held), growth - self.grows_bytes[request]
