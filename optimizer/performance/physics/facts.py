"""What physics needs of one model, one GPU and one precision: the catalogs' facts turned into SI numbers."""

import math

from optimizer.base.units import (
    BITS_PER_BYTE,
    BYTES_PER_GB,
    BYTES_PER_MIB,
    FLOPS_PER_TFLOPS,
    PARAMS_PER_BILLION,
)
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.kinds import KernelSupportLevel
from optimizer.inputs.catalog.records import Catalogs, Gpu, PrecisionScheme

KERNEL_SUPPORT: tuple[KernelSupportLevel, ...] = ("none", "weight_only", "native")
"""Names of the kernel support codes 0, 1, 2."""

PLAIN_PRECISION = "bf16"
"""What stays unquantized (embeddings, output head, KV cache by default) is stored in 16 bits."""


def expert_params(model: Model) -> float:
    """Parameters of all routed experts: (total − active) / (1 − k/E), since only the unused experts are inactive."""
    if model.moe_experts is None or model.moe_active_experts is None:
        return 0.0
    inactive = (model.total_params_b - model.active_params_b) * PARAMS_PER_BILLION
    return inactive / (1 - model.moe_active_experts / model.moe_experts)


def expert_layers(model: Model) -> int:
    """Layers that have routed experts: the first few may be dense, and beyond them only every so many-th has some."""
    if model.moe_experts is None:
        return 0
    return model.moe_layers or (model.layers - model.moe_first_dense_layers) // model.moe_layer_step


def is_latent(model: Model) -> bool:
    """Whether the KV cache holds one compressed latent per token (MLA), which tensor parallelism cannot divide."""
    return model.kv_lora_rank is not None


def network_facts(model: Model) -> dict[str, float]:
    """Sizes of a model, with its parameters split by how often they are read: body, head, embedding, experts."""
    experts = float(model.moe_experts or 1)
    active = float(model.moe_active_experts or 1)
    routed = expert_params(model)
    head = float(model.vocab_size * model.hidden_size)
    read = model.active_params_excl_input_embedding_b * PARAMS_PER_BILLION
    latent, routed_layers = is_latent(model), expert_layers(model)
    decode_dims = (
        2.0 * (model.kv_lora_rank or 0) + float(model.qk_rope_head_dim or 0) if latent else 2.0 * model.head_dim
    )
    return {
        "layers": model.layers,
        "hidden": model.hidden_size,
        "heads": model.attention_heads,
        "kv_heads": model.kv_heads,
        "prefill_dims": 2.0 * model.head_dim,
        "decode_dims": decode_dims,
        "vocab": model.vocab_size,
        "body_params": read - head - routed * active / experts,
        "head_params": head,
        "embedding_params": 0.0 if model.tied_embeddings else head,
        "expert_params": routed,
        "experts": experts,
        "active_experts": active,
        "expert_layers": routed_layers,
        "corrected_layers": routed_layers if model.moe_selection_bias else 0,
        "lone_expert_layers": 0 if model.moe_shared_intermediate_size else routed_layers,
        "normed_layers": model.kv_cache_layers if model.qk_norm and not latent else 0,
        "expert_width": float(model.moe_intermediate_size or model.intermediate_size),
        "kv_layers": model.kv_cache_layers,
        **cache_facts(model),
        "state_bytes": model.linear_state_bytes_per_sequence,
        "latent": float(latent),
        "unread_params": model.unread_params_b * PARAMS_PER_BILLION,
        "unread_bytes_per_param": (model.unread_weight_bits or math.nan) / BITS_PER_BYTE,
        "max_context": model.max_context_tokens,
        **passing_numbers(model),
    }


def passing_numbers(model: Model) -> dict[str, float]:
    """How often the numbers of one token pass through memory between the products of all layers, in numbers.

    `whole` on every GPU: behind attention and behind the MLP the residual and what is added to it are read, their sum
    and its norm written, 8 · hidden a layer; k experts' outputs are read and their sum written, (k + 1) · hidden.
    `divided` among the GPUs: queries and keys are read and written again with their positions, keys and values read and
    put into the cache; of an MLP's width the gate and what it multiplies are read, their product written.
    Source: the kernels of a layer in vLLM, `fused_add_rms_norm`, `rotary_embedding`, `reshape_and_cache`,
    `silu_and_mul` and `moe_sum` (csrc/).
    """
    routed, active = expert_layers(model), model.moe_active_experts or 0
    queries, keys = model.attention_heads * model.head_dim, model.kv_heads * model.head_dim
    width = (model.layers - routed) * model.intermediate_size
    width += routed * (active * (model.moe_intermediate_size or 0) + (model.moe_shared_intermediate_size or 0))
    summed = routed * (active + 1)
    return {
        "whole_numbers": (8 * model.layers + summed) * model.hidden_size,
        "divided_numbers": model.layers * 2 * (queries + 3 * keys) + (3 if model.mlp_gated else 2) * width,
    }


def cache_facts(model: Model) -> dict[str, float]:
    """What layers keep of a token, in layers that keep as much as a windowed one (as any, where none is windowed).

    Layers that see the whole context may have fewer or wider heads, or keep compressed tokens: `full_layers` and
    `sparse_layers` count their bytes in such layers, and a byte of theirs meets `far_expansion` times as many queries.
    """
    total, layers = model.kv_bytes_per_token_bf16, model.kv_cache_layers
    windowed = layers - model.global_attention_layers if model.sliding_window_tokens else 0
    near = model.window_kv_bytes_per_token_bf16
    near = (windowed * total / layers if near is None else near) if windowed else 0.0
    entry = near / windowed if windowed else total / layers
    sparse = model.sparse_kv_bytes_per_token_bf16
    sparse = (total - near if sparse is None else sparse) if model.sparse_attention_tokens else 0.0
    far_heads = float(model.global_kv_heads or model.kv_heads)
    return {
        "window_layers": windowed,
        "full_layers": (total - near - sparse) / entry,
        "sparse_layers": sparse / entry,
        "layer_bytes_per_token": entry,
        "far_kv_heads": far_heads,
        "far_expansion": model.kv_heads / far_heads,
        "window": float(model.sliding_window_tokens or math.inf),
        "sparse_tokens": float(model.sparse_attention_tokens or math.inf),
        "index_bytes": model.indexer_bytes_per_token,
        "index_flops": model.indexer_flops_per_token_pair,
    }


def quantizes_all(model: Model, scheme: PrecisionScheme) -> bool:
    """Whether the scheme stores every linear layer of this model, not only its routed experts.

    The model's own release decides for its native precision; a model without experts has nothing else to quantize.
    """
    if model.moe_experts is None:
        return True
    part = model.native_quantized_part if scheme.id == model.native_precision else scheme.quantized_part
    return part != "routed_experts"


def weight_facts(catalogs: Catalogs, model: Model, scheme: PrecisionScheme) -> dict[str, float]:
    """Bytes per parameter of the body and of the experts, and whether each of them is quantized."""
    plain = catalogs.schemes[PLAIN_PRECISION].weight_bits
    everything = quantizes_all(model, scheme)
    released = scheme.id == model.native_precision
    body = (model.native_body_weight_bits if released else None) or (scheme.weight_bits if everything else plain)
    experts = (model.native_expert_weight_bits if released else None) or scheme.weight_bits
    return {
        "body_bytes_per_param": body / BITS_PER_BYTE,
        "expert_bytes_per_param": experts / BITS_PER_BYTE,
        "body_quantized": float(everything),
    }


def gpu_facts(gpu: Gpu) -> dict[str, float]:
    """Memory, bandwidth of data and 16-bit peak of a GPU, and how it talks to others; NaN where nobody published it."""
    data_share = 1.0 if gpu.memory_data_share is None else gpu.memory_data_share
    return {
        "usable_bytes": gpu.usable_memory_mib * BYTES_PER_MIB,
        "bandwidth": gpu.memory_bandwidth_gb_per_s * data_share * BYTES_PER_GB,
        "plain_flops": (_plain_tflops(gpu) or math.nan) * FLOPS_PER_TFLOPS,
        "half_gain": half_accumulation_gain(gpu),
        "pcie_bandwidth": (gpu.pcie_gb_per_s or math.nan) * BYTES_PER_GB,
        "own_bandwidth": (gpu.link_gb_per_s or math.nan) * BYTES_PER_GB,
        "pair_all_reduce": (gpu.all_reduce_2_gb_per_s or math.nan) * BYTES_PER_GB,
        "wide_all_reduce": (gpu.all_reduce_4_gb_per_s or math.nan) * BYTES_PER_GB,
        "domain": gpu.link_domain_gpus,
    }


def _plain_tflops(gpu: Gpu) -> float | None:
    return gpu.bf16_tflops or gpu.fp16_tflops


def half_accumulation_gain(gpu: Gpu) -> float:
    """How much faster 16-bit products run when they are also summed in 16 bits, at least 1.

    Matrix units do 8-bit products at twice that rate; cards whose 16-bit peak is quoted for 32-bit sums at half rate
    (consumer cards) therefore show a ratio of 4 between the two peaks, all others 2.
    """
    plain = _plain_tflops(gpu)
    return max(gpu.int8_tops / 2 / plain, 1.0) if gpu.int8_tops and plain else 1.0


def kernel_facts(catalogs: Catalogs, gpu: Gpu, scheme: PrecisionScheme) -> dict[str, float]:
    """Peak of the matrix units for a scheme on a GPU and the kernel support code.

    Weight-only kernels unpack to 16 bits and multiply there; a native kernel without a published peak counts as none.
    """
    row = catalogs.kernel_support.get((scheme.id, gpu.architecture))
    support: KernelSupportLevel = row.support if row is not None else "none"
    plain = _plain_tflops(gpu)
    peaks = {
        "bf16": gpu.bf16_tflops,
        "fp16": gpu.fp16_tflops or gpu.bf16_tflops,
        "fp8": gpu.fp8_tflops,
        "int8": gpu.int8_tops,
        "fp4": gpu.fp4_tflops,
    }
    peak = peaks[scheme.compute] if support == "native" else plain
    code = KERNEL_SUPPORT.index(support) if peak is not None else 0
    return {"scheme_flops": (peak or plain or math.nan) * FLOPS_PER_TFLOPS, "kernel_support": float(code)}
