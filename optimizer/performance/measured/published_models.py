"""What publications call a model, led back to a name that the catalogs know: the same name elsewhere, never a near one.

A checkpoint under another account has the name of the one it was made from, with what it was quantized to behind it.
"""

import re
from collections import defaultdict
from typing import Final

from optimizer.base.errors import InputError
from optimizer.base.once_of import OnceOf
from optimizer.inputs.catalog.entries.models import ModelAlias
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.published_names import ReadName

_BEFORE: Final = re.compile(r"^(?:hf|huggingface|hf-hub)[:/]+|^https?://huggingface\.co/|^models--", re.IGNORECASE)
_SIGNS: Final = re.compile(r"[\s\-_:]+")
"""Signs by which names differ and mean the same; a dot is none, since 2.5-7B is not 25-7B."""
_FORMAT: Final = re.compile(r"[-_]hf$")
QUANTIZED: Final = (
    (re.compile(r"[-_.](?:quantized[-_.])?(?:fp8|w8a8[-_]fp8)(?:[-_](?:dynamic|kv|block|static))*$"), "fp8"),
    (re.compile(r"[-_.](?:nvfp4a16|nvfp4|fp4)(?:[-_]v\d)?$"), "fp4"),
    (re.compile(r"[-_.]mxfp4(?:[-_]preview)?$"), "mxfp4"),
    (re.compile(r"[-_.](?:awq[-_]int4|int4[-_]awq|awq[-_]4bit|awq|w4a16[-_]awq)$"), "int4"),
    (re.compile(r"[-_.](?:gptq[-_]int8|gptq[-_]8bit|quantized[-_.]w8a16|w8a16|int8[-_]w8a16)$"), "int8_w8a16"),
    (re.compile(r"[-_.](?:gptq[-_]int4|gptq[-_]4bit|gptq|quantized[-_.]w4a16|w4a16|int4|bnb[-_]4bit)$"), "int4"),
    (re.compile(r"[-_.](?:quantized[-_.]w8a8|w8a8|int8)$"), "int8"),
    (re.compile(r"[-_.]q4_k_m(?:[-_]gguf)?$|[-_.]q4_k_m\.gguf$"), "q4_k_m"),
    (re.compile(r"[-_.]bf16$"), "bf16"),
)
"""What stands behind the name of a model, in small letters, and the precision that it says."""


_FILE: Final = re.compile(r"[-_.]gguf$")
"""Behind the name of a file in one of many precisions."""
_SIZE: Final = re.compile(r"[\s\-_](\d+(?:\.\d+)?)b$")
_SIZE_TOLERANCE: Final = 0.02


class ModelNames:
    """The names of one set of catalogs, ready to look up."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._by_end: defaultdict[str, set[str]] = defaultdict(set)
        for name in (*catalogs.models, *(alias.hf_id for alias in catalogs.aliases.values())):
            self._by_end[_end(name)].add(name)

    def read(self, name: str) -> ReadName:
        """The known model of that name, of the same name elsewhere, or of the name without what it was quantized to."""
        if name in self._catalogs.models or name.casefold() in self._catalogs.aliases:
            return ReadName(name)
        path = _path(name)
        known = self._same(path) or self._of_size(path)
        if known:
            return ReadName(known, note=f"model '{name}' read as {known}")
        return self._without_precision(name, path.casefold()) or ReadName(problem=self._unknown(name))

    def _unknown(self, name: str) -> str:
        """What is said of a name that nobody recorded, with the nearest ones."""
        try:
            self._catalogs.model(name)
        except InputError as error:
            finding = error.findings[0]
            return f"{finding.problem} ({finding.hint})" if finding.hint else finding.problem
        return ""

    def _without_precision(self, name: str, path: str) -> ReadName | None:
        """The known model of the name before what it was quantized to; None where there is none."""
        for pattern, precision in (*QUANTIZED, (_FILE, "")):
            bare = pattern.sub("", path)
            known = self._same(bare) if bare != path else ""
            if known and (precision in self._catalogs.schemes or not precision) and not self._quantized(known):
                said = f" in {precision}" if precision else ""
                return ReadName(
                    known,
                    note=f"model '{name}' read as {known}{said}",
                    precision=precision,
                    precision_missing=not precision,
                )
        return None

    def _of_size(self, name: str) -> str:
        """A known name before a size that is its own: `DeepSeek R1 671B`."""
        size = _SIZE.search(name.casefold())
        known = self._same(name[: size.start()]) if size else ""
        if not size or not known:
            return ""
        stated, own = float(size[1]), self._catalogs.model(known).total_params_b
        return known if abs(stated - own) <= _SIZE_TOLERANCE * own else ""

    def _same(self, name: str) -> str:
        """A known name that ends alike; none where known names that do mean different weights."""
        found = self._by_end.get(_end(name), set())
        weights = {self._weights(each) for each in found}
        return min(found, key=lambda each: self._rank(each, name)) if len(weights) == 1 else ""

    def _weights(self, name: str) -> tuple[str, str | None]:
        """What tells two known names apart: architecture and precision."""
        alias = self._alias(name)
        return (alias.model, alias.weight_precision) if alias else (name, None)

    def _rank(self, known: str, name: str) -> tuple[bool, int, bool, str]:
        """The very name first, then what says most of its own, then the publisher's before re-uploads."""
        alias = self._alias(known)
        own = (alias.max_context_tokens, alias.vocab_size, alias.sliding_window_tokens) if alias else ()
        said = sum(each is not None for each in own)
        return known.casefold() != name.casefold(), -said, alias is not None and alias.relation != "same", known

    def _quantized(self, name: str) -> bool:
        return self._weights(name)[1] is not None

    def _alias(self, name: str) -> ModelAlias | None:
        return None if name in self._catalogs.models else self._catalogs.aliases[name.casefold()]


model_names: Final = OnceOf(ModelNames)


def _path(name: str) -> str:
    """A name without what file systems and caches put around it."""
    plain = name.strip().replace("\\", "/").rstrip("/")
    return _BEFORE.sub("", plain).replace("--", "/")


def _end(name: str) -> str:
    """The last part of a name, without case, signs, and the word for the format of its files."""
    return _SIGNS.sub("", _FORMAT.sub("", name.rpartition("/")[2].casefold()))
