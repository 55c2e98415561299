"""In what precision a decoder's weights were released, as columns of the catalog."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.layers.feed_forward import DenseNetwork, ExpertNetwork
from optimizer.inputs.importing.hf_config.layers.stack import Decoder
from optimizer.inputs.importing.hf_config.storage.formats import DIGITS_OF_BITS, WeightFormat
from optimizer.inputs.importing.hf_config.storage.parts import BESIDE_DENSE, MODULES, Part, read_storage

SIXTEEN: Final = ("bf16", "fp16")


def stored_columns(
    fields: Fields,
    family: ModelFamily,
    decoder: Decoder,
    *,
    beside: Mapping[str, Any] | None,
    weight_bits: Mapping[str, float],
) -> dict[str, object]:
    """Precision of the weights as released, and which of them are in it.

    Args:
        fields: The configuration.
        family: Its family.
        decoder: What it describes.
        beside: The entry of an `hf_quant_config.json` beside it.
        weight_bits: Bits per quantized weight of each precision scheme.
    """
    parts = _parts(decoder)
    modules = BESIDE_DENSE if family.dense_beside_experts else MODULES
    where = {part: layers for part, (layers, _) in parts.items()}
    stored = read_storage(fields, beside, where, modules, tied=decoder.tied_embeddings)
    fields.check()
    main = stored.get("experts") or stored.get("dense") or stored["mixer"]
    bits = {part: how.bits or weight_bits[how.scheme] for part, how in stored.items()}
    body: list[Part] = [part for part in stored if part != "experts"]
    everywhere = "experts" not in stored or all(stored[part].scheme == main.scheme for part in body)
    # what the parts say by themselves, and what the body takes on average
    usual = weight_bits[main.scheme if everywhere else SIXTEEN[0]]
    mean = sum(bits[part] * parts[part][1] for part in body) / sum(parts[part][1] for part in body)
    return {
        "native_precision": main.scheme,
        "native_quantized_part": _quantized_part(stored, everywhere=everywhere),
        "native_body_weight_bits": None if math.isclose(mean, usual) else round(mean, DIGITS_OF_BITS),
        "native_expert_weight_bits": main.bits if "experts" in stored and main.bits != usual else None,
    }


def _quantized_part(stored: Mapping[Part, WeightFormat], *, everywhere: bool) -> str | None:
    if all(how.scheme in SIXTEEN for how in stored.values()):
        return None
    return "all_linear" if everywhere else "routed_experts"


def _parts(decoder: Decoder) -> dict[Part, tuple[Sequence[int], int]]:
    """The layers in which each part stands, and its parameters in all of them."""
    found: dict[Part, tuple[list[int], int]] = {}

    def add(part: Part, layer: int, params: int) -> None:
        layers, before = found.get(part, ([], 0))
        found[part] = ([*layers, layer], before + params)

    for number, layer in enumerate(decoder.layers):
        if layer.mixer is not None:
            add("mixer", number, layer.mixer.params(decoder.hidden))
        network = layer.feed_forward
        if isinstance(network, DenseNetwork):
            add("dense", number, network.params(decoder.hidden))
        if isinstance(network, ExpertNetwork):
            add("experts", number, network.params(decoder.hidden))
            if network.shared_width:
                add("shared", number, DenseNetwork(network.shared_width, network.gated).params(decoder.hidden))
    return dict(found)
