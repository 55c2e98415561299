"""How many parameters a decoder has and what shape, as columns of the catalog."""

from dataclasses import asdict
from typing import Final

from optimizer.base.units import PARAMS_PER_BILLION
from optimizer.inputs.importing.hf_config.layers.attention import GroupedAttention, SideBySide
from optimizer.inputs.importing.hf_config.layers.feed_forward import DenseNetwork, ExpertNetwork
from optimizer.inputs.importing.hf_config.layers.stack import Decoder, Mixer

DIGITS_OF_BILLIONS: Final = 4
DIGITS_OF_BITS: Final = 3
SIXTEEN: Final = 16


def counted_columns(decoder: Decoder, vision: int) -> dict[str, object]:
    """Parameters in billions: of the decoder, and of what text does not read, encoders of images and sound among it."""
    counted = asdict(decoder.counted())
    heads = counted.pop("prediction_head_params")
    return {
        **{f"{name}_b": _billions(count) for name, count in counted.items()},
        "prediction_head_params_b": _billions(heads),
        "unread_params_b": _billions(vision + decoder.lookup_params),
        "unread_weight_bits": _bits_of_unread(decoder, vision),
    }


def _bits_of_unread(decoder: Decoder, vision: int) -> float | None:
    """Mean bits of what text does not read, where some of it is always stored in fewer than 16."""
    if not decoder.narrow_lookup_params:
        return None
    everything, narrow = vision + decoder.lookup_params, decoder.narrow_lookup_params
    bits = SIXTEEN * (everything - narrow) + decoder.narrow_lookup_bits * narrow
    return round(bits / everything, DIGITS_OF_BITS)


def shape_columns(decoder: Decoder, experts: ExpertNetwork | None, width: int) -> dict[str, object]:
    """Layers, widths and experts; `width` is that of a dense network where no layer has one."""
    dense = [layer.feed_forward.width for layer in decoder.layers if isinstance(layer.feed_forward, DenseNetwork)]
    at = [number for number, layer in enumerate(decoder.layers) if isinstance(layer.feed_forward, ExpertNetwork)]
    networks = [number for number, layer in enumerate(decoder.layers) if layer.feed_forward is not None]
    first = networks.index(at[0]) if at else 0
    step = networks.index(at[1]) - first if len(at) > 1 else 1
    dense_first = 0 if step > 1 else first
    as_told = (len(decoder.layers) - dense_first) // step
    routed = (
        {
            "moe_experts": experts.count,
            "moe_active_experts": experts.active,
            "moe_intermediate_size": experts.width,
            "moe_shared_intermediate_size": experts.shared_width or None,
            "moe_first_dense_layers": dense_first,
            "moe_layer_step": step,
            "moe_layers": None if len(at) == as_told else len(at),
            "moe_selection_bias": experts.selection_bias,
        }
        if experts
        else {}
    )
    return {
        "layers": len(decoder.layers),
        "hidden_size": decoder.hidden,
        "intermediate_size": max(dense, default=width),
        "mlp_gated": _gated(decoder),
        "vocab_size": decoder.vocab,
        "tied_embeddings": decoder.tied_embeddings,
        "qk_norm": any(_norms_queries(layer.mixer) for layer in decoder.layers),
        **routed,
    }


def _norms_queries(mixer: Mixer | None) -> bool:
    attention = mixer.attention if isinstance(mixer, SideBySide) else mixer
    return isinstance(attention, GroupedAttention) and attention.qk_norm != "none"


def _gated(decoder: Decoder) -> bool:
    networks = [layer.feed_forward for layer in decoder.layers]
    return all(network.gated for network in networks if isinstance(network, (DenseNetwork, ExpertNetwork)))


def _billions(parameters: int) -> float:
    return round(parameters / PARAMS_PER_BILLION, DIGITS_OF_BILLIONS)
