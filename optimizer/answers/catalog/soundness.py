"""Whether the catalogs are sound: what their rows say of one another, and a prediction tried for every engine."""

from collections import defaultdict
from collections.abc import Iterator

import pandas as pd

from optimizer.inputs.catalog.checks import CatalogFinding, check_rows
from optimizer.inputs.catalog.entries.engines import Engine
from optimizer.inputs.catalog.records import Catalogs, Gpu
from optimizer.performance.measured.batch import predict_batch

TOKENS = "128"
"""Of prompt and answer in the prediction that is tried."""


def check_catalogs(catalogs: Catalogs, *, max_age_days: int | None = None) -> tuple[CatalogFinding, ...]:
    """Whether catalogs are sound, and whether every plannable engine can be predicted where its row says it runs.

    Args:
        catalogs: What is checked.
        max_age_days: Older prices are errors, counted back from the catalog's date; None allows any age.

    Returns:
        Every remark, errors first.
    """
    found = {*check_rows(catalogs, max_age_days=max_age_days), *_engines(catalogs)}
    return tuple(sorted(found, key=lambda finding: finding.rank))


def _engines(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Plannable engines of which nothing can be predicted on architectures that their row names."""
    architectures: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for (engine, gpu), reason in _tried(catalogs).items():
        if reason:
            architectures[engine, reason].append(catalogs.gpus[gpu].architecture)
    for (engine, reason), names in architectures.items():
        text = f"{catalogs.engine_places[engine]}: no plan can use it on {', '.join(sorted(names))}: {reason}"
        yield CatalogFinding("warning", "engines", engine, text)


def _tried(catalogs: Catalogs) -> dict[tuple[str, str], str]:
    """Why nothing can be predicted, empty where it can, by plannable engine and one GPU of each of its architectures.

    The model is the smallest, so that it fits everywhere.
    """
    smallest = min(catalogs.models.values(), key=lambda model: (model.total_params_b, model.id))
    gpu_of_architecture = {gpu.architecture: gpu for gpu in catalogs.gpus.values()}
    pairs = [
        (engine, gpu)
        for engine in catalogs.engines.values()
        for architecture, gpu in gpu_of_architecture.items()
        if engine.plannable and architecture in engine.architectures
    ]
    rows = [
        {
            "engine": engine.id,
            "model": smallest.id,
            "gpu": gpu.id,
            "num_gpus": "1",
            "weight_precision": _precision(engine, gpu, catalogs),
            "input_tokens": TOKENS,
            "output_tokens": TOKENS,
            "load_type": "concurrency",
            "load_value": "1",
        }
        for engine, gpu in pairs
    ]
    predicted = predict_batch(pd.DataFrame(rows), catalogs, look_up=False)
    reasons = predicted["pred_reason"].where(predicted["pred_status"] != "ok", "")
    return {(engine.id, gpu.id): reason for (engine, gpu), reason in zip(pairs, reasons, strict=True)}


def _precision(engine: Engine, gpu: Gpu, catalogs: Catalogs) -> str:
    """The first precision that the engine loads and the GPU has kernels for; the engine's first where there is none."""
    rows = {name: catalogs.kernel_support.get((name, gpu.architecture)) for name in engine.schemes}
    running = (name for name, row in rows.items() if row is not None and row.support != "none")
    return next(running, engine.schemes[0])
