"""What publications call engines, precisions and loads, led back to the words of the catalogs."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from optimizer.base.errors import did_you_mean
from optimizer.base.once_of import OnceOf
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.names import folded
from optimizer.performance.measured.published_names import ReadName

LOADS_CALLED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("closedloop", "concurrent", "maxconcurrency", "clients", "users"), "concurrency"),
    **dict.fromkeys(("openloop", "poisson", "qps", "rps", "rate", "reqrate", "requestspersecond"), "request_rate"),
    "server": "request_rate",
    **dict.fromkeys(("burst", "allatonce", "throughput"), "offline"),
    **dict.fromkeys(("batch", "batchsize", "static"), "static_batch"),
}
"""Other words for kinds of load, folded. `server` and `offline` are MLPerf's."""
PRECISIONS_CALLED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("bfloat16", "torchbfloat16"), "bf16"),
    **dict.fromkeys(("float16", "half", "torchfloat16"), "fp16"),
    **dict.fromkeys(("float8", "e4m3", "e5m2", "fp8e4m3", "fp8e5m2", "fp8e4m3fn", "float8e4m3fn", "f8"), "fp8"),
    **dict.fromkeys(("fp8dynamic", "dynamicfp8", "fp8block", "blockfp8", "fp8kv", "w8a8fp8", "fp8w8a8"), "fp8"),
    **dict.fromkeys(("w8a8int8", "int8w8a8", "smoothquant"), "int8"),
    **dict.fromkeys(("w8a16", "w8a16int8", "gptqint8"), "int8_w8a16"),
    **dict.fromkeys(("w4a16", "int4w4a16", "int4awq", "awqint4", "gptqint4", "int4gptq", "i4"), "int4"),
    **dict.fromkeys(("nvfp4", "w4a4nvfp4", "nvfp4w4a4"), "fp4"),
    **dict.fromkeys(("w4a8awq", "w4a8fp8"), "w4a8_fp8"),
}
"""Other words for precisions of weights and caches, folded."""
METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    "awq": ("int4", "int8_w8a16"),
    "gptq": ("int4", "int8_w8a16"),
    "w8a8": ("int8", "fp8"),
}
"""Methods of quantization and what they make: what the checkpoint says of itself where that is one, else the first."""
OWN: Final = ("auto", "default", "native")
"""Words for whatever the model was released in."""
_ENGINES_CALLED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("trtllm", "trt", "tensorrt", "nvidiatensorrtllm"), "tensorrt-llm"),
    **dict.fromkeys(("tgi", "textgenerationinference", "huggingfacetgi"), "tgi"),
    "sgl": "sglang",
}
_RELEASE: Final = re.compile(r"[\s\-_:@(]+v?(\d+\.\d+[^\s)]*)\)?$", re.IGNORECASE)
"""A version behind an engine's name: `vLLM v0.11.0`, `sglang-0.5.5.post3`."""
_ABOUT: Final = re.compile(r"^dynamo[\s\-_]+|[\s\-_(]+(?:rocm|cuda|v1|server|serve|openai)\)?$", re.IGNORECASE)
"""What stands before or behind an engine's name and is no other engine."""


class EngineNames:
    """The names of one set of catalogs, ready to look up."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._exact = {name.casefold(): e.id for e in catalogs.engines.values() for name in (e.id, e.name)}
        called = {name: identity for name, identity in _ENGINES_CALLED.items() if identity in catalogs.engines}
        self._folded = {folded(name): identity for name, identity in self._exact.items()} | called

    def read(self, name: str) -> ReadName:
        """The engine of that name."""
        if name.casefold() in self._exact:
            return ReadName(self._exact[name.casefold()])
        release = _RELEASE.search(name)
        bare = _ABOUT.sub("", name[: release.start()] if release else name)
        found = self._folded.get(folded(_ABOUT.sub("", bare)), "")
        if not found:
            hint = did_you_mean(name, self._exact.values())
            return ReadName(problem=f"unknown engine '{name}'" + (f" ({hint})" if hint else ""))
        return ReadName(found, note=f"engine '{name}' read as {found}", version=release[1] if release else "")


engine_names: Final = OnceOf(EngineNames)


def called(word: str, known: Iterable[str], others: Mapping[str, str]) -> str:
    """The catalog's word for another, which stays as it is where nobody calls it otherwise."""
    own = {folded(each): each for each in known}
    return word if word in own.values() else own.get(folded(word)) or others.get(folded(word), word)
