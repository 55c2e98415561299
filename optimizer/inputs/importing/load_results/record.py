"""One run of a load generator as every reader gives it: our names, our units, and None where the file does not say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from optimizer.base.arrays import Floats
from optimizer.base.errors import Finding

LoadType = Literal["request_rate", "concurrency", "offline"]

STATISTICS: Final = ("mean", "p50", "p90", "p95", "p99")
"""Statistics of latencies by name, in the order in which they are written."""

FACTS: Final = (
    *("model", "engine", "engine_version", "gpu", "num_gpus", "tp", "pp", "ep", "dp"),
    *("weight_precision", "kv_precision", "speculation"),
)
"""What was measured. A label of the same name (`--metadata tp=2`, `--label tp=2`) says it where a tool does not."""


@dataclass(frozen=True)
class Load:
    """What the generator asked of the server.

    Attributes:
        type: `request_rate` (open loop, requests/s), `concurrency` (closed loop, requests in flight) or `offline`
            (everything at once).
        value: Requests/s or requests in flight; of `offline` the number of requests.
    """

    type: LoadType
    value: float | None


@dataclass(frozen=True, eq=False)
class Requests:
    """What was measured of each completed request, in the order of the file; NaN where it was not, all (n,).

    Attributes:
        ttft_ms: From sending the request to its first token.
        tpot_ms: (end to end − TTFT) / (output tokens − 1); NaN of an answer of one token.
        input_tokens: Of the prompt.
        output_tokens: Of the answer.
    """

    ttft_ms: Floats
    tpot_ms: Floats
    input_tokens: Floats
    output_tokens: Floats


@dataclass(frozen=True)
class Goodput:
    """Requests that the generator itself counted as within limits.

    Attributes:
        within: How many were within all of them.
        limits_ms: By latency: `ttft_ms`, `tpot_ms`, `e2e_ms`.
        unjudged: Answered requests of which it does not say either.
    """

    within: int
    limits_ms: Mapping[str, float]
    unjudged: int = 0


@dataclass(frozen=True)
class Flaw:
    """What makes a run say less than it seems to.

    Attributes:
        problem: What is wrong, in one clause.
        hint: How to measure it so that it counts.
    """

    problem: str
    hint: str


@dataclass(frozen=True)
class LoadResult:
    """One run of a load generator.

    Attributes:
        file: The file as the user named it.
        run: Which run of the file: `line 3`, `benchmarks[0]`; empty where the file holds one.
        line: Where the run stands, 1-based; 0 where the file holds one.
        tool: Who measured: `vllm`, `guidellm`, `aiperf`, `genai-perf`, `sglang`, `llm-d`, `inference-perf`,
            `inferencex`, `llmperf`, `mlperf`.
        tool_version: Its version.
        schema: Version of the file's shape, where it has one.
        model: As the file names it.
        engine: What served; a catalog id in lower case.
        engine_version: Of the engine.
        gpu: As the file names it.
        num_gpus: Of the whole deployment under test.
        tp: Tensor parallel degree.
        pp: Pipeline parallel degree.
        ep: Expert parallel degree.
        dp: Independent replicas, or ranks of data-parallel attention.
        weight_precision: As measurements name it: `bf16`, `fp8`, `int4`.
        kv_precision: Likewise.
        speculation: The draft, `METHOD:TOKENS`, as a label says it.
        accepted_tokens: That a step kept, its own among them.
        attention_dp: Whether the ranks of `dp` share one replica's attention and spread its experts.
        max_num_seqs: The engine's cap on concurrent sequences, where it was set.
        input_tokens: Mean of a request's prompt.
        output_tokens: Mean of a request's answer.
        load: What was asked of the server; None where the file says nothing that can be used.
        burstiness: Shape of the gaps between requests: 1 is Poisson, infinity is evenly spaced.
        requests_completed: With an answer.
        requests_failed: Without one.
        requests_offered: All that were sent.
        duration_s: From the first request to the last answer.
        ttft_ms: Statistics of TTFT by name, of `STATISTICS`.
        tpot_ms: Statistics of TPOT by our definition, whatever the tool calls it.
        e2e_ms: Statistics of the whole request.
        std_ms: Standard deviation over requests, by latency: `ttft_ms`, `tpot_ms`, `e2e_ms`.
        goodput: What the generator counted as within limits, where it says which.
        output_tokens_per_s: Of the whole deployment.
        requests_per_s: Completed.
        requests: Each request, where the file holds them.
        metadata: Every label that the run carries, text by name: the plan's hash, workload, class, deployment.
        flaws: Why the run cannot be used, as far as only its reader can know.
        notes: What a reader should know of the figures; the run can be used.
    """

    file: str
    tool: str
    run: str = ""
    line: int = 0
    tool_version: str | None = None
    schema: str | None = None
    model: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    gpu: str | None = None
    num_gpus: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    weight_precision: str | None = None
    kv_precision: str | None = None
    speculation: str | None = None
    accepted_tokens: float | None = None
    attention_dp: bool | None = None
    max_num_seqs: int | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    load: Load | None = None
    burstiness: float | None = None
    requests_completed: int | None = None
    requests_failed: int | None = None
    requests_offered: int | None = None
    duration_s: float | None = None
    ttft_ms: Mapping[str, float] = field(default_factory=dict)
    tpot_ms: Mapping[str, float] = field(default_factory=dict)
    e2e_ms: Mapping[str, float] = field(default_factory=dict)
    std_ms: Mapping[str, float] = field(default_factory=dict)
    goodput: Goodput | None = None
    output_tokens_per_s: float | None = None
    requests_per_s: float | None = None
    requests: Requests | None = field(default=None, compare=False)
    metadata: Mapping[str, str] = field(default_factory=dict)
    flaws: tuple[Flaw, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def requests_unanswered(self) -> int:
        """That were sent and neither answered nor failed: still under way when the run ended."""
        if self.requests_offered is None or self.requests_completed is None:
            return 0
        return max(self.requests_offered - self.requests_completed - (self.requests_failed or 0), 0)

    def finding(self, flaw: Flaw) -> Finding:
        """A flaw with the file and the run that has it."""
        return Finding(self.file, self.line, self.run, flaw.problem, flaw.hint)
