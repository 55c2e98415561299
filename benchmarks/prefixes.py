"""What replicas find again of a trace's prompts, by the size of their caches, how many there are and who deals.

    python benchmarks/prefixes.py TRACE.jsonl [--replicas 1 4 8] [--tokens 0.5e6 1.5e6 …] [--router in_turn …]

TRACE has a line of JSON for each request: timestamp (ms), input_length, output_length, hash_ids; such as Mooncake's
(kvcache-ai/Mooncake, Apache-2.0; Qin et al., FAST 2025). One 8B model on H100 serves it, with step times as predicted.
A line for each case: the share of prompt tokens found, the share in one memory for all that forgets nothing, TTFT, and
how many times as many requests the fullest replica was sent as it would be in turn.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from optimizer import load_catalogs
from optimizer.inputs.scenario.tables import requests_of_trace
from optimizer.performance.physics.memory import kv_bytes_per_token
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.simulation.arrivals import Classes, trace
from optimizer.performance.simulation.costs import replica_costs
from optimizer.performance.simulation.fleet import Server, serve_stream

MODEL, GPU = "llama-3.1-8b", "h100-sxm"
TOKENS = (0.5e6, 1.5e6, 5.1e6, 25.6e6, 1e12)


def main() -> None:
    """Prints a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--tokens", type=float, nargs="+", default=TOKENS, help="that the cache of a replica holds")
    parser.add_argument("--router", nargs="+", default=["in_turn"])
    asked = parser.parse_args()
    costs = replica_costs(gather(load_catalogs(), [Configuration("vllm", MODEL, GPU, "bf16", "bf16", 1, 1)]), 0)
    per_token = kv_bytes_per_token(costs.setup)[0]
    stream = trace(Classes(np.array([1.0]), np.array([1000]), np.array([100])), *requests_of_trace(asked.trace))
    assert stream.blocks is not None, "a trace with hash_ids"
    whole = stream.input_tokens.sum()
    most = stream.blocks.repeated_tokens(stream.input_tokens).sum() / whole
    print(
        f"{stream.requests} requests, {whole} prompt tokens, blocks of {stream.blocks.block_tokens}, "
        f"{most:.2%} repeated"
    )
    for replicas in asked.replicas:
        for tokens in asked.tokens:
            server = Server(replace(costs, cache_bytes=tokens * per_token), replicas, np.array([1.0]))
            for router in asked.router:
                began = time.process_time()
                found = serve_stream(np.random.default_rng(0), stream, [server], 0.0, replicas, router=router)
                share = found.cached_tokens.sum() / stream.input_tokens[found.request].sum()
                fullest = max(len(one.finished_s) for one in found.replicas[0]) / len(found.request) * replicas
                p50, p95 = np.quantile(found.ttft_s, (0.5, 0.95), method="higher")
                print(
                    f"{replicas:3d} replicas of {tokens:9.3g} tokens, {router:12}  found {share:6.2%}  "
                    f"TTFT p50 {p50:8.2f} s  p95 {p95:8.2f} s  fullest {fullest:4.2f}  "
                    f"{time.process_time() - began:.1f} CPU s"
                )


if __name__ == "__main__":
    main()
