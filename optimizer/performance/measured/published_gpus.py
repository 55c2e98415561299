"""What publications call a GPU, led back to the one in the catalog: by its name, memory and form, never by nearness."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from optimizer.base.errors import did_you_mean
from optimizer.base.once_of import OnceOf
from optimizer.inputs.catalog.records import Catalogs, Gpu
from optimizer.inputs.importing.names import MEMORY_TOLERANCE, Names, folded, names_of
from optimizer.inputs.measurements import shipped_measurements
from optimizer.performance.measured.published_names import ReadName

_COUNT: Final = re.compile(
    r"^(\d{1,4})\s*[x×*]\s*(?=[a-z])"
    r"|(?:(?<=[\d\s(])[x×]|\*)\s*(\d{1,2})\)?$"
    r"|\((\d{1,4})\s*(?:[x×]|gpus?)\)$"
)
"""How many, before a name or behind it: `8x H100`, `H100 x8`, `H100 (8x)`."""
_MEMORY: Final = re.compile(r"(?<![a-z\d])(\d{2,3})\s*gi?b?(?![a-z\d])")
_WORD: Final = re.compile(r"[a-z\d]+")
_NOISE: Final = re.compile(
    r"nvidia|amd|intel|habana|aws|google|instinct|tesla|geforce|quadro|tensor|core|gpus?|accelerator|generation|edition"
    r"|oam|hgx|dgx|hbm\d?e?|gddr\d\w?|nvl\d+|vf|ac|\d{3,4}w|nps1|spx|server|workstation"
)
"""Words that tell no two cards of one name apart, or that are read as its form."""
_FORMS: Final = {"pcie": "pcie", "nvl": "nvl", "server": "se", "workstation": "ws"}
_SXM: Final = re.compile(r"sxm\d?")
_LAST_FORM: Final = re.compile(r"(?<=\d)(sxm\d?|pcie|nvl)$")


@dataclass(frozen=True)
class GpuWords:
    """A GPU's name taken apart.

    Attributes:
        base: What it is called without maker, memory and form.
        memory_gb: As stated, 0 where it is not.
        form: `sxm`, `pcie`, `nvl`, `se`, `ws`, or nothing.
        count: How many the name speaks of, 0 where it does not.
    """

    base: str
    memory_gb: int
    form: str
    count: int


def card_of(name: str) -> GpuWords:
    """A name taken apart."""
    text = name.casefold().replace("_", " ").strip()
    counted = _COUNT.search(text)
    count = next((int(each) for each in counted.groups() if each), 0) if counted else 0
    text = _COUNT.sub("", text) if counted else text
    memory = _MEMORY.search(text)
    words = _WORD.findall(_MEMORY.sub(" ", text))
    words = [part for word in words for part in _LAST_FORM.sub(r" \1", word).split()]
    forms = ["sxm" if _SXM.fullmatch(word) else _FORMS.get(word, "") for word in words]
    kept = (word for word, form in zip(words, forms, strict=True) if not form and not _NOISE.fullmatch(word))
    return GpuWords("".join(kept), int(memory[1]) if memory else 0, next(filter(None, forms), ""), count)


class GpuNames:
    """The names of one set of catalogs, ready to look up."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._gpus = catalogs.gpus
        self._ids = {identity.casefold(): identity for identity in catalogs.gpus}
        self._names: Names = names_of(catalogs)
        self._by_base: defaultdict[str, set[str]] = defaultdict(set)
        for gpu in catalogs.gpus.values():
            for each in (gpu.id, gpu.name):
                self._by_base[_base(each, gpu)].add(gpu.id)

    def read(self, name: str) -> ReadName:
        """The GPU of that name; of several that share it the usual one, and which others it might be."""
        if name.casefold() in self._ids:
            return ReadName(self._ids[name.casefold()])
        card = card_of(name)
        found = self._possible(name, card)
        if not found:
            hint = did_you_mean(name, self._gpus)
            return ReadName(problem=f"unknown gpu '{name}'" + (f" ({hint})" if hint else ""))
        first, *others = sorted(found, key=self._usual)
        might = f", which might be {', '.join(others)}" if others else ""
        return ReadName(first, note=f"gpu '{name}' read as {first}{might}", count=card.count)

    def _possible(self, name: str, card: GpuWords) -> list[str]:
        known = self._names.gpu_ids
        called = self._by_base.get(card.base, set()).union(known.get(card.base, ()), known.get(folded(name), ()))
        # recorded with that memory, which need not be the GPU's own: a Grace Hopper is called by its host's
        recorded = set(known.get(f"{card.base}{card.memory_gb}gb", ()))
        fitting = recorded | {each for each in called if self._fits(each, card)}
        return [each for each in sorted(fitting) if card.form in ("", *_forms(self._gpus[each]))]

    def _fits(self, identity: str, card: GpuWords) -> bool:
        own_gb = self._gpus[identity].memory_gb
        return not card.memory_gb or abs(card.memory_gb - own_gb) <= MEMORY_TOLERANCE * own_gb

    def _usual(self, identity: str) -> tuple[int, float, str]:
        """Of cards that share a name, the one that most publications measured, then that with most memory."""
        return -_publications().get(identity, 0), -self._gpus[identity].memory_gb, identity


gpu_names: Final = OnceOf(GpuNames)


@cache
def _publications() -> Mapping[str, int]:
    """How many publications measured each GPU."""
    counted = shipped_measurements().groupby("gpu")["source"].nunique()
    return {str(gpu): int(number) for gpu, number in counted.items()}


def _base(name: str, gpu: Gpu) -> str:
    """What a GPU is called without its memory, which ids state as a bare number."""
    words = [word for word in re.split(r"[-\s]", name.casefold()) if word != f"{gpu.memory_gb:g}"]
    return card_of(" ".join(words[:-1] if words[-1] in ("se", "ws") else words)).base


def _forms(gpu: Gpu) -> Iterable[str]:
    """The forms by which a name may call this GPU: that of its id, else that of its full name, else of its link."""
    own = gpu.id.rpartition("-")[2]
    if own in ("sxm", "pcie", "nvl", "se", "ws"):
        return (own,)
    stated = card_of(gpu.name).form
    return (stated or ("pcie" if gpu.link == "pcie" else "sxm"),)
