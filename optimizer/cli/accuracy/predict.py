"""`optimizer predict`: what a configuration delivers, one by one or a CSV file at a time."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.errors import Finding, refuse
from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption, Format, FormatOption, OutputOption, QuietOption, write

CSV_DIGITS = "%.6g"
MAX_TOKENS = 10_000_000
MAX_DEGREE = 1024
IN_THE_FILE = "describes one configuration; with --batch they all stand in the file"
IN_THE_PROFILE = "the profile already gives the lengths"

Degree = Annotated[int, typer.Option(min=1, max=MAX_DEGREE)]


def predict(
    model: Annotated[str | None, typer.Option(help="Catalog id or Hugging Face id.")] = None,
    gpu: Annotated[str | None, typer.Option(help="Catalog id, as `optimizer catalog list gpus` shows it.")] = None,
    tensor_parallel: Degree = 1,
    precision: Annotated[str | None, typer.Option(help="Of the weights: bf16, fp8, int4 and so on.")] = None,
    input_tokens: Annotated[int | None, typer.Option(min=1, max=MAX_TOKENS)] = None,
    output_tokens: Annotated[int | None, typer.Option(min=1, max=MAX_TOKENS)] = None,
    lengths: Annotated[
        str | None, typer.Option(help="Instead of the two the means of a profile: catalog list length-profiles.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, max=1_000_000, help="Requests in flight.")] = None,
    request_rate: Annotated[float | None, typer.Option(min=1e-9, max=1e6, help="Requests/s, instead.")] = None,
    pipeline_parallel: Degree = 1,
    kv_precision: Annotated[str, typer.Option(help="Of the KV cache; 16 bits unless given.")] = "",
    engine: Annotated[str, typer.Option(help="Serving engine.")] = "vllm",
    engine_version: Annotated[str, typer.Option(help="A release or a year; the newest known unless given.")] = "",
    speculation: Annotated[
        str, typer.Option(help="Speculative decoding: a method, tokens drafted a step, or both: mtp, 2, eagle3:3.")
    ] = "",
    accepted_tokens: Annotated[
        float | None, typer.Option(min=1, max=64, help="What a step keeps, its own among them; else as counted.")
    ] = None,
    batch: Annotated[Path | None, typer.Option(help="A CSV file, one deployment a row, instead of all these.")] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    quiet: QuietOption = False,
) -> None:
    """What a configuration delivers: TTFT, TPOT and throughput with their 90 % intervals."""
    configuration = {"--model": model, "--gpu": gpu, "--precision": precision}
    tokens = {"--input-tokens": input_tokens, "--output-tokens": output_tokens}
    load = {"--concurrency": concurrency, "--request-rate": request_rate}
    if batch is not None:
        _refuse_beside({**configuration, **tokens, "--lengths": lengths, **load}, "--batch", IN_THE_FILE)
        write(_predicted_file(batch, catalogs, quiet), output)
        return
    if lengths is not None:
        _refuse_beside(tokens, "--lengths", IN_THE_PROFILE)
    _require({**configuration, **(tokens if lengths is None else {})}, load)
    known = calls.load_catalogs(catalogs)
    if lengths is not None:
        input_tokens, output_tokens = calls.mean_lengths(lengths, known)
    setting = calls.Setting(
        model=model or "",
        gpu=gpu or "",
        tensor_parallel=tensor_parallel,
        pipeline_parallel=pipeline_parallel,
        precision=precision or "",
        kv_precision=kv_precision,
        engine=engine,
        engine_version=engine_version,
        input_tokens=input_tokens or 0,
        output_tokens=output_tokens or 0,
        load_type="request_rate" if concurrency is None else "concurrency",
        load_value=concurrency or request_rate or 0,
        speculation=speculation,
        accepted_tokens=accepted_tokens,
    )
    write(_rendered(calls.predict_setting(setting, known), output_format), output)


def _predicted_file(batch: Path, catalogs: Path | None, quiet: bool) -> str:
    """The file's rows with the predictions beside them, as CSV."""
    rows = calls.read_rows(batch, calls.REQUIRED)
    known = calls.load_catalogs(catalogs)
    remarks = not quiet and sys.stderr.isatty()
    if remarks:
        sys.stderr.write(f"predicting {len(rows):,} rows\n")
    predicted = calls.predict_batch(rows, known)
    if remarks:
        unsupported = int((predicted["pred_status"] != "ok").sum())
        sys.stderr.write(f"{len(rows) - unsupported:,} predicted, {unsupported:,} unsupported\n")
    return predicted.to_csv(index=False, float_format=CSV_DIGITS, lineterminator="\n")


def _refuse_beside(options: Mapping[str, object], beside: str, problem: str) -> None:
    """Raises InputError: one of these options is given beside another that says the same."""
    given = [name for name, value in options.items() if value is not None]
    refuse(Finding("predict", 0, name, problem, f"leave out {name} or {beside}") for name in given)


def _require(options: Mapping[str, object], load: Mapping[str, object]) -> None:
    """Raises InputError: an option that a single prediction needs is not given, or not exactly one load."""
    missing = [name for name, value in options.items() if value is None]
    findings = [Finding("predict", 0, name, "is missing", "or give a file with --batch") for name in missing]
    if sum(value is not None for value in load.values()) != 1:
        findings.append(Finding("predict", 0, "--concurrency", "give either this or --request-rate"))
    refuse(findings)


def _rendered(prediction: "calls.Prediction", output_format: Format) -> str:
    """The question in the first line of a terminal, however long; else as every answer."""
    if output_format is Format.TEXT:
        return calls.prediction_text(prediction)
    return calls.rendered(calls.prediction_answer(prediction), prediction, output_format.value)
