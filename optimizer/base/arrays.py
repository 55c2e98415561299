"""The array types of the hot path."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Names: TypeAlias = NDArray[Any]
"""Text of each row, as Python objects."""
