"""A model's shape on vLLM, weights drawn: what `vllm bench serve` measures of it on the GPU at hand.

    python benchmarks/engine.py --config config.json --serve vllm.sh --runs runs.txt --seconds 300 --output measured

Needs vLLM and one GPU, and nothing of this project: the machine that has the GPU need not have the rest, nor weights,
nor a network. `--serve` is the script that `optimizer export PLAN.json --to vllm` writes, run as it is but for weights
that are drawn and a tokenizer whose every word is one token. `--runs` holds the options of one `vllm bench serve` a
line, or of several with ` & ` between them, which are sent at the same time. The tool is imported once for all, for
that takes longer than some of them do. No run begins after `--seconds`, so that what was measured until then is kept,
and none before the file of `--after` is there: two servers start side by side on one card, and are loaded in turn.
"""

import argparse
import json
import multiprocessing
import os
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from vllm.benchmarks.serve import add_cli_args
from vllm.benchmarks.serve import main as bench_serve
from vllm.utils.argparse_utils import FlexibleArgumentParser

LONG = ("generated_texts", "itls", "errors", "input_lens", "output_lens", "start_times")
"""Of single requests, what no comparison reads."""

SHIM = f"""#!/bin/sh
if [ "$1" = serve ]; then set -- "$@" --load-format dummy; fi
exec {sys.executable} -c 'from vllm.entrypoints.cli.main import main; main()' "$@"
"""
"""What `vllm` means to the scripts: the same command, with drawn weights."""


def write_model(config: Path, folder: Path) -> None:
    """The folder of a model without weights: its configuration, and a tokenizer of as many words."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(config.read_text())
    words = {f"w{at}": at for at in range(json.loads(config.read_text())["vocab_size"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Sequence([decoders.Replace("w", " w"), decoders.Fuse()])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)


def started(script: Path, url: str, log: Path, within_s: float) -> subprocess.Popen[bytes]:
    """The server that a script starts, once it answers."""
    path = log.parent / "shim"
    path.mkdir(exist_ok=True)
    (path / "vllm").write_text(SHIM)
    (path / "vllm").chmod(0o755)
    env = {**os.environ, "PATH": f"{path.resolve()}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
    began = time.monotonic()
    server = subprocess.Popen(["bash", str(script)], stdout=log.open("wb"), stderr=subprocess.STDOUT, env=env)
    while time.monotonic() < began + within_s and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                print(f"server answers after {time.monotonic() - began:.0f} s", flush=True)
                return server
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    server.kill()
    raise SystemExit(f"the server did not answer:\n{log.read_text()[-6000:]}")


def measured(options: str, url: str, folder: Path) -> None:
    """One run of `vllm bench serve`: what it says, without the longest of its lists, in a file and a line."""
    parser = FlexibleArgumentParser()
    add_cli_args(parser)
    asked = ["--base-url", url, "--save-result", "--save-detailed", "--result-dir", str(folder), "--disable-tqdm"]
    parsed = parser.parse_args([*shlex.split(options), *asked])
    bench_serve(parsed)
    file = folder / parsed.result_filename
    result = {key: value for key, value in json.loads(file.read_text()).items() if key not in LONG}
    file.write_text(json.dumps(result))
    shown = ("completed", "duration", "request_throughput", "mean_ttft_ms", "p95_ttft_ms", "mean_tpot_ms")
    print(parsed.result_filename, *(f"{name} {result[name]:.4g}" for name in shown), sep="\n   ", flush=True)


def at_the_same_time(line: str, url: str, folder: Path) -> int:
    """The runs of a line, each in a process that has the tool imported; how many of them failed."""
    fork = multiprocessing.get_context("fork")
    runs = [fork.Process(target=measured, args=(options, url, folder)) for options in line.split(" & ")]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    return sum(run.exitcode != 0 for run in runs)


def main() -> None:
    """Runs all, and prints a line of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True, help="the model's config.json")
    parser.add_argument("--serve", type=Path, required=True, help="the script that starts the server")
    parser.add_argument("--runs", type=Path, required=True, help="options of vllm bench serve, a run a line")
    parser.add_argument("--seconds", type=float, required=True, help="after which no run begins")
    parser.add_argument("--after", type=Path, help="a file without which no run begins")
    parser.add_argument("--output", type=Path, required=True, help="folder of results")
    asked = parser.parse_args()
    began = time.monotonic()
    asked.output.mkdir(parents=True, exist_ok=True)
    words = shlex.split(asked.serve.read_text(), comments=True)
    write_model(asked.config, Path(words[words.index("serve") + 1]))
    url = f"http://127.0.0.1:{words[words.index('--port') + 1]}"
    failed = 0
    server = started(asked.serve, url, asked.output / "server.log", asked.seconds)
    try:
        while asked.after and not asked.after.exists() and time.monotonic() - began < asked.seconds:
            time.sleep(0.5)
        for line in asked.runs.read_text().splitlines():
            if time.monotonic() - began > asked.seconds:
                print("no time left for:", line)
                continue
            failed += at_the_same_time(line, url, asked.output)
    finally:
        server.terminate()
        server.wait(30)
    if failed:
        raise SystemExit(f"{failed} runs failed")


if __name__ == "__main__":
    main()
