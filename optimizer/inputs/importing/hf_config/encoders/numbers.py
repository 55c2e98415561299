"""The numbers of a group of fields that describes an encoder, whatever each family calls them."""

from collections.abc import Mapping
from typing import Any

from optimizer.inputs.importing.hf_config.fields import MOST


class Numbers:
    """The whole numbers of a group of fields, 0 where none is stated; of a list its first."""

    def __init__(self, group: Mapping[str, Any]) -> None:
        self._group = group

    def __call__(self, *names: str) -> int:
        stated = (self._group.get(name) for name in names)
        firsts = (value[0] if isinstance(value, list) and value else value for value in stated)
        return next((int(value) for value in firsts if isinstance(value, int) and 0 < value <= MOST), 0)
