"""What a solver said before of the same program: what is proven for good, and what time ended for less time."""

import hashlib
from collections import OrderedDict
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from ortools.math_opt import model_parameters_pb2, model_pb2, parameters_pb2

from optimizer.base.clock import Clock

MOST_REMEMBERED, MOST_REMEMBERED_BYTES = 256, 1_000_000
"""Programs whose proven answers are kept, and the size of one beyond which it is not: large ones hardly recur."""

Found = TypeVar("Found")


class SolvedBefore(Generic[Found]):
    """Answers of programs that were solved in this process: what a solver says of the same bytes is the same.

    What is asked beside a plan often comes to a program that was solved before: what a change lets in, bounds leave
    out. The key holds all that a solver is told but its time limit, which an answer that is proven did not meet. What
    a time limit ended is kept for the rest of its question: the same program is not begun again for less time.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[bytes, tuple[Found, int]] = OrderedDict()
        self._ended: WeakKeyDictionary[Clock, dict[bytes, tuple[Found, float]]] = WeakKeyDictionary()

    def key(
        self,
        model: model_pb2.ModelProto,
        solver: int,
        parameters: parameters_pb2.SolveParametersProto,
        start: model_parameters_pb2.ModelSolveParametersProto,
    ) -> bytes | None:
        """What the program is known by; None for one too large to be kept."""
        if model.ByteSize() > MOST_REMEMBERED_BYTES:
            return None
        told = parameters_pb2.SolveParametersProto()
        told.CopyFrom(parameters)
        told.ClearField("time_limit")
        parts = [told.SerializeToString(deterministic=True), start.SerializeToString(deterministic=True)]
        return hashlib.sha256(b"".join([bytes([solver]), *parts, model.SerializeToString()])).digest()

    def get(self, key: bytes | None) -> tuple[Found, int] | None:
        """The answer and the simplex iterations that it took, if it is known."""
        return None if key is None else self._answers.get(key)

    def keep(self, key: bytes | None, proven: Found, iterations: int) -> None:
        """Keep an answer, in place of the oldest where there are many."""
        if key is None:
            return
        self._answers[key] = proven, iterations
        if len(self._answers) > MOST_REMEMBERED:
            self._answers.popitem(last=False)

    def in_less_time(self, key: bytes | None, clock: Clock, seconds: float) -> Found | None:
        """What was found in the same question when as many seconds or more were too few."""
        known = self._ended.get(clock.question, {})
        if key is None or key not in known:
            return None
        found, given_s = known[key]
        return found if seconds <= given_s else None

    def note_ended(self, key: bytes | None, clock: Clock, found: Found, seconds: float) -> None:
        """Keep what a program had come to when its time was up."""
        if key is not None:
            self._ended.setdefault(clock.question, {})[key] = found, seconds
