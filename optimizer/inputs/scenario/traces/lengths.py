"""The lengths of a trace's requests as one class of few kinds, alike in what they cost."""

from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.inputs.scenario.demand import RequestClass, RequestLengths

PROMPTS: Final = 20
"""Kinds of prompts."""
ANSWERS: Final = 4
"""Kinds of answers to each of them."""


def class_of_lengths(input_tokens: Floats, output_tokens: Floats) -> RequestClass:
    """All requests as one class: kinds of prompts by length, and in each of them kinds of answers.

    Kinds are cut where both the requests and their tokens count, so that few long ones that cost much are told apart
    as well as many short ones. Each has the mean lengths of its requests, so that tokens are those of the trace.

    Args:
        input_tokens: (N,) of each request's prompt.
        output_tokens: (N,) of its answer.
    """
    kind = _cut(input_tokens, PROMPTS) * ANSWERS
    for prompts in np.unique(kind):
        mine = kind == prompts
        kind[mine] += _cut(output_tokens[mine], ANSWERS)
    _, kind = np.unique(kind, return_inverse=True)
    count = np.bincount(kind)
    prompt, answer = (
        np.maximum(np.round(np.bincount(kind, tokens) / count), 1).astype(np.int64)
        for tokens in (input_tokens, output_tokens)
    )
    # kinds whose lengths round alike are one
    lengths, alike = np.unique(np.column_stack([prompt, answer]), axis=0, return_inverse=True)
    share = np.bincount(alike.reshape(-1), count) / len(input_tokens)
    kinds = tuple(
        RequestLengths(share=part, input_tokens=each[0], output_tokens=each[1])
        for part, each in zip(share.tolist(), lengths.tolist(), strict=True)
    )
    means = (max(round(float(np.mean(tokens))), 1) for tokens in (input_tokens, output_tokens))
    prompt_mean, answer_mean = means
    return RequestClass(
        share=1.0,
        input_tokens=prompt_mean,
        output_tokens=answer_mean,
        lengths=kinds if len(kinds) > 1 else None,
    )


def _cut(tokens: Floats, parts: int) -> Ints:
    """(N,) to which of so many parts each belongs, the shortest first: parts are as large in the mean of the requests
    and of the tokens that they hold."""
    order = np.argsort(tokens, kind="stable")
    rising = tokens[order]
    # the middle of each request in the order, as a share of all
    held = (np.cumsum(1 / len(tokens) + rising / rising.sum()) - (1 / len(tokens) + rising / rising.sum()) / 2) / 2
    part = np.empty(len(tokens), dtype=np.int64)
    part[order] = np.minimum((held * parts).astype(np.int64), parts - 1)
    return part
