"""The lengths of requests within their classes, as a scenario says them, in arrays."""

from collections.abc import Sequence

import numpy as np

from optimizer.inputs.scenario.scenario import RequestClass, RequestLengths
from optimizer.performance.candidates.predict import Lengths


def lengths_of(classes: Sequence[RequestClass]) -> Lengths | None:
    """The kinds of requests of these classes; None where all of each class are alike."""
    if all(item.lengths is None for item in classes):
        return None
    kinds = [(number, kind) for number, item in enumerate(classes) for kind in kinds_of(item)]
    return Lengths(
        request_class=np.array([number for number, _ in kinds]),
        share=np.array([kind.share for _, kind in kinds]),
        input_tokens=np.array([kind.input_tokens for _, kind in kinds], dtype=float),
        output_tokens=np.array([kind.output_tokens for _, kind in kinds], dtype=float),
    )


def kinds_of(item: RequestClass) -> Sequence[RequestLengths]:
    """The lengths of a class's requests, one where they are alike."""
    return item.lengths or (
        RequestLengths(share=1.0, input_tokens=item.input_tokens, output_tokens=item.output_tokens),
    )
