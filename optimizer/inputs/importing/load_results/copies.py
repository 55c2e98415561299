"""A run that was given more than once counts once: a copied file under another name, a line that stands twice."""

from collections.abc import Iterable
from dataclasses import astuple, replace
from typing import Any

from optimizer.inputs.importing.load_results.record import LoadResult


def without_copies(results: Iterable[LoadResult]) -> list[LoadResult]:
    """Each run once, the first that was given; it notes where its copies stand.

    Runs are copies where everything that is read of them is the same to the last digit: of two that were measured
    one after the other no duration is.
    """
    kept: dict[tuple[Any, ...], LoadResult] = {}
    for result in results:
        said = _all_it_says(result)
        first = kept.setdefault(said, result)
        if first is not result:
            note = f"{f'{result.file} {result.run}'.strip()} holds the same run: counted once"
            kept[said] = replace(first, notes=(*first.notes, note))
    return list(kept.values())


def _all_it_says(result: LoadResult) -> tuple[Any, ...]:
    """All that is read of a run but where it stands."""
    singly = () if result.requests is None else astuple(result.requests)
    return repr(replace(result, file="", run="", line=0, requests=None)), *(values.tobytes() for values in singly)
