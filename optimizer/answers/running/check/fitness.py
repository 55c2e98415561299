"""Whether a run is one that a plan promises: which one, and everything in which it differs."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from optimizer.answers.accuracy.told import WORDS, Reader
from optimizer.base.figures import figure
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.load_results.fitness import doubts, failures, fell_behind, rate_tolerance
from optimizer.inputs.importing.load_results.record import Flaw, LoadResult
from optimizer.plan.benchmark.runs import BenchmarkRun

LEAST_RATE: Final = 0.98
"""Of the promised rate: with less a replica has it easier."""
LENGTHS: Final = 0.05
"""By which a prompt or an answer may be longer or shorter."""
EVENNESS: Final = 0.05
"""By which requests may come more evenly: squared variation of the gaps."""
LEAST_ID: Final = 8
"""Characters of a plan's id that tell it from another."""
OF_RUN: Final = ("deployment", "workload", "class")
"""Labels that name a run."""


@dataclass(frozen=True)
class Judged:
    """A run in a file, held against the plan.

    Attributes:
        result: As it was read.
        run: The run of the plan that it is, or is nearest to; None where nothing says.
        reasons: Why it does not count; empty where it does.
        notes: What to know of it where it counts.
    """

    result: LoadResult
    run: BenchmarkRun | None
    reasons: tuple[str, ...]
    notes: tuple[str, ...]


class Promised:
    """The runs of a plan, to find the one that a result is.

    Args:
        runs: Of the plan.
        plan_id: Its id.
        scenario: Its scenario's name, by which a result may call it.
        catalogs: What names stand for.
    """

    def __init__(self, runs: Sequence[BenchmarkRun], plan_id: str, scenario: str, catalogs: Catalogs) -> None:
        self._runs, self._plan_id, self._scenario, self._catalogs = runs, plan_id, scenario, catalogs
        self._reader = Reader(catalogs, {})

    def judged(self, result: LoadResult) -> Judged:
        """Which run it is, and whether it counts."""
        found_unfit = (*result.flaws, *failures(result), *_uncounted(result))
        flaws = (f"{flaw.problem} ({flaw.hint})" for flaw in found_unfit)
        own = (*flaws, *self._other_plan(result))
        found = {run.name: tuple(self._differences(result, run)) for run in self._named(result)}
        unclear = self._unclear(result, found)
        if unclear:
            return Judged(result, None, (*own, unclear), ())
        name = min(found, key=lambda each: len(found[each]))
        run = next(run for run in self._runs if run.name == name)
        return Judged(result, run, (*own, *found[name]), tuple(_notes(result, run)))

    def _unclear(self, result: LoadResult, found: Mapping[str, Sequence[str]]) -> str:
        """Why it cannot be said which run it is; empty where it can.

        Args:
            result: As it was read.
            found: Every run that it may be by its name, with the differences from that.
        """
        if not found:
            labels = ", ".join(f"{name} {result.metadata[name]}" for name in OF_RUN if name in result.metadata)
            return f"{labels}: measured, promised are {', '.join(run.name for run in self._runs)}"
        fitting = [name for name, differences in found.items() if not differences]
        if len(fitting) < 2:
            return ""
        hint = "label it with deployment=NAME and class=CLASS"
        return f"may be {' or '.join(fitting)}: nothing in it says which ({hint})"

    def _other_plan(self, result: LoadResult) -> Iterator[str]:
        label = result.metadata.get("plan")
        digits = (label or "").removeprefix("sha256:")
        same = len(digits) >= LEAST_ID and self._plan_id.removeprefix("sha256:").startswith(digits)
        if label is not None and not same and label != self._scenario:
            yield f"plan: measured {label}, promised {self._plan_id[: len('sha256:') + 16]}"

    def _named(self, result: LoadResult) -> list[BenchmarkRun]:
        """The runs that it may be by its labels, else by the name of its file or folder, else all."""
        labels = {name: result.metadata[name] for name in OF_RUN if name in result.metadata}
        if labels:
            return [run for run in self._runs if labels.items() <= _labels(run).items()]
        names = {Path(result.file).stem, Path(result.file).parent.name}
        return [run for run in self._runs if run.name in names] or list(self._runs)

    def _differences(self, result: LoadResult, run: BenchmarkRun) -> Iterator[str]:
        """Everything in which it is another run, both values named; what it does not say is no difference."""
        values = self._reader.facts_of(result).values
        for name, (promised, same) in self._facts(run).items():
            said = getattr(result, name)
            if said is not None and (values[name] is None or not same(values[name])):
                yield f"{WORDS.get(name, name.replace('_', ' '))}: measured {said}, promised {promised}"
        yield from _other_load(result, run)
        for name, promised in (("input_tokens", run.served.input_tokens), ("output_tokens", run.served.output_tokens)):
            tokens = getattr(result, name)
            if tokens is not None and abs(tokens - promised) > LENGTHS * promised:
                yield f"{name.replace('_', ' ')}: measured {figure(tokens)}, promised {promised:,}"

    def _facts(self, run: BenchmarkRun) -> dict[str, tuple[Any, Callable[[Any], bool]]]:
        """What is promised of the replica, and whether a value is that."""
        d, model = run.d, self._catalogs.model(run.d.model).id
        return {
            "model": (run.hf_id, lambda name: self._catalogs.model(name).id == model),
            "engine": (d.engine, d.engine.__eq__),
            "gpu": (d.gpu, d.gpu.__eq__),
            "num_gpus": (d.gpus_per_replica, d.gpus_per_replica.__eq__),
            "tp": (d.tensor_parallel, d.tensor_parallel.__eq__),
            "pp": (d.pipeline_parallel, d.pipeline_parallel.__eq__),
            "dp": (1, (1).__eq__),
            "weight_precision": (d.precision, lambda name: _same_precision(name, d.precision)),
            "kv_precision": (d.kv_precision, lambda name: _same_precision(name, d.kv_precision)),
            "speculation": (d.speculation or "none", d.speculation.__eq__),
        }


def _uncounted(result: LoadResult) -> Iterator[Flaw]:
    """A file of which nobody knows how many requests it speaks of: no share of them can be bounded."""
    if result.requests is None and result.requests_completed is None:
        yield Flaw("does not say how many requests were answered", "give the tool's own detailed result")


def asked_more(run: BenchmarkRun, result: LoadResult) -> bool:
    """Whether a run was so much harder than the promise that a limit it missed says nothing."""
    faster = result.load is not None and (result.load.value or 0) * LEAST_RATE > run.rate_per_s
    cv2 = _cv2(result)
    return faster or (cv2 is not None and cv2 > run.cv2 + EVENNESS)


def served_less(run: BenchmarkRun, result: LoadResult) -> str:
    """That fewer requests a second were answered than promised, beyond chance, so that each had it easier; else "".

    The time in which the last request is answered is not counted, for none is sent in it.
    """
    served, lasts_ms = result.requests_per_s, result.e2e_ms.get("mean")
    if result.duration_s is not None and result.requests_completed and lasts_ms is not None:
        sending_s = result.duration_s - lasts_ms / MS_PER_S
        served = result.requests_completed / sending_s if sending_s > 0 else None
    if served is None or served >= run.rate_per_s * (1 - rate_tolerance(result)):
        return ""
    return f"served {figure(served)} requests/s of the {figure(run.rate_per_s)} promised"


def _cv2(result: LoadResult) -> float | None:
    """Squared variation of the gaps between requests; None where the file does not say."""
    if result.burstiness is None:
        return None
    return 0.0 if math.isinf(result.burstiness) else 1 / result.burstiness if result.burstiness else math.inf


def _labels(run: BenchmarkRun) -> dict[str, str]:
    return {"deployment": run.deployment_name, "workload": run.d.workload, "class": run.served.name}


def _same_precision(one: str, other: str) -> bool:
    """Formats of sixteen bits count as one."""
    return one == other or {one, other} <= set(SIXTEEN_BIT)


def _other_load(result: LoadResult, run: BenchmarkRun) -> Iterator[str]:
    """A closed loop, a lower rate or calmer arrivals: each is easier than what is promised."""
    promised = f"{figure(run.rate_per_s, 4)} requests/s"
    load = result.load
    if load is None or load.type != "request_rate" or load.value is None:
        in_flight = load.value if load is not None and load.type == "concurrency" else None
        said = "no rate" if in_flight is None else f"{figure(in_flight)} requests in flight"
        yield f"load: measured with {said}, promised {promised} whatever is in flight"
        return
    if load.value < LEAST_RATE * run.rate_per_s:
        yield f"rate: measured {figure(load.value, 4)} requests/s, promised {promised}"
    cv2 = _cv2(result)
    if cv2 is not None and cv2 < run.cv2 - EVENNESS:
        yield (
            f"arrivals: measured gaps of squared variation {figure(cv2)}, promised {figure(run.cv2)}, "
            "which is less even"
        )


def _notes(result: LoadResult, run: BenchmarkRun) -> Iterator[str]:
    """What to know of a run that counts."""
    yield from (*result.notes, *doubts(result), *(flaw.problem for flaw in fell_behind(result)))
    yield from (*_other_release(result, run), *_unsaid(result))


def _other_release(result: LoadResult, run: BenchmarkRun) -> Iterator[str]:
    """Another release may be faster or slower, and is told; what is promised is the speed."""
    if result.engine_version not in (None, run.d.engine_version):
        yield f"measured with {run.d.engine} {result.engine_version}, the plan assumes {run.d.engine_version}"


def _unsaid(result: LoadResult) -> Iterator[str]:
    """What the file leaves to one's word."""
    names = ("plan", "gpu", "num_gpus", "tp", "weight_precision", "kv_precision", "input_tokens", "output_tokens")
    said = {name: result.metadata.get("plan") if name == "plan" else getattr(result, name) for name in names}
    missing = [WORDS.get(name, name.replace("_", " ")) for name, value in said.items() if value is None]
    if missing:
        yield f"does not say its {', '.join(missing)}: taken to be as promised, on your word"
