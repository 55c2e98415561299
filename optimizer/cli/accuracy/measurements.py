"""`optimizer measurements import`: results of load generators as a file that `validate` and `calibrate` read."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.errors import Finding, InputError
from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption, Format, FormatOption, check_writable, deliver, write

MAX_TOKENS = 10_000_000
MAX_DEGREE = 1024

Degree = Annotated[int | None, typer.Option(min=1, max=MAX_DEGREE)]
Tokens = Annotated[float | None, typer.Option(min=1, max=MAX_TOKENS, help="Mean of a request.")]


def measurements_import(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Results of vLLM's, SGLang's or llm-d's benchmark, GuideLLM, AIPerf, genai-perf, inference-perf, "
            "InferenceX, LLMPerf or MLPerf."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", help="The CSV file of measurements to write.")],
    gpu: Annotated[str | None, typer.Option(help="Catalog id, as `optimizer catalog list gpus` shows it.")] = None,
    tensor_parallel: Degree = None,
    precision: Annotated[str | None, typer.Option(help="Of the weights: bf16, fp8, int4 and so on.")] = None,
    engine_version: Annotated[str | None, typer.Option(help="As its release is called: 0.33.0.")] = None,
    model: Annotated[str | None, typer.Option(help="Catalog id or Hugging Face id.")] = None,
    engine: Annotated[str | None, typer.Option(help="Serving engine: vllm, sglang, tensorrt-llm.")] = None,
    kv_precision: Annotated[str | None, typer.Option(help="Of the KV cache.")] = None,
    speculation: Annotated[str | None, typer.Option(help="The draft whose tokens steps verified: eagle3:3.")] = None,
    accepted_tokens: Annotated[
        float | None, typer.Option(min=1, max=64, help="What a step kept of it, its own token among them.")
    ] = None,
    num_gpus: Annotated[int | None, typer.Option(min=1, help="Of the whole deployment.")] = None,
    pipeline_parallel: Degree = None,
    expert_parallel: Degree = None,
    data_parallel: Degree = None,
    input_tokens: Tokens = None,
    output_tokens: Tokens = None,
    request_rate: Annotated[float | None, typer.Option(min=1e-9, max=1e6, help="Requests/s offered.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, max=1_000_000, help="Requests in flight.")] = None,
    source: Annotated[str, typer.Option(help="What the measurements are called.")] = "own",
    output_format: FormatOption = Format.TEXT,
    catalogs: CatalogsOption = None,
) -> None:
    """Results of load generators as measurements of your own; unfit runs are refused and listed.

    Files are known by their keys. Options say what they do not, and never overrule them: a run that says otherwise is
    refused.
    """
    check_writable(output)
    if request_rate is not None and concurrency is not None:
        raise InputError([Finding("measurements import", 0, "--concurrency", "give either this or --request-rate")])
    told = {
        "model": model,
        "engine": engine,
        "engine_version": engine_version,
        "gpu": gpu,
        "num_gpus": num_gpus,
        "tp": tensor_parallel,
        "pp": pipeline_parallel,
        "ep": expert_parallel,
        "dp": data_parallel,
        "weight_precision": precision,
        "kv_precision": kv_precision,
        "speculation": speculation,
        "accepted_tokens": accepted_tokens,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "load": calls.load_of(request_rate, concurrency, None)[0],
    }
    imported = calls.import_measurements(files, calls.load_catalogs(catalogs), told, source=source)
    write(calls.measurements_csv(imported), output)
    answer = calls.WrittenAnswer(calls.imported_sections(imported, str(output)))
    deliver(answer, calls.imported_content(imported, str(output)), output_format, None, width=calls.WIDE)
