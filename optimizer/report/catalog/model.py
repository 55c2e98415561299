"""A model that was read from a configuration, as the facts that a plan rests on."""

from collections.abc import Sequence

from optimizer.base.units import BYTES_PER_GIB, BYTES_PER_MIB
from optimizer.inputs.catalog.models import Model
from optimizer.report.layout.elements import Section, Table


def model_section(model: Model, written: Sequence[str]) -> Section:
    """The counted facts first, then where the row was written."""
    experts = f"{model.moe_active_experts} of {model.moe_experts}" if model.moe_experts else "none, dense"
    window = f"{model.sliding_window_tokens:,} tokens" if model.sliding_window_tokens else "none"
    full_context_gib = model.kv_bytes_per_token_bf16 * model.max_context_tokens / BYTES_PER_GIB
    rows = (
        ("parameters", f"{model.total_params_b:,.4g}", "billion"),
        ("of them active", f"{model.active_params_b:,.4g}", "billion"),
        ("experts", experts, ""),
        ("layers", f"{model.layers}", ""),
        ("attention", f"{model.attention}, {model.kv_heads} KV heads of {model.head_dim}", ""),
        ("sliding window", window, ""),
        ("KV cache a token", f"{model.kv_bytes_per_token_bf16 / BYTES_PER_MIB:,.3g}", "MiB, 16 bits, all layers"),
        ("KV cache of a full context", f"{full_context_gib:,.3g}", f"GiB at {model.max_context_tokens:,} tokens"),
        ("weights as released", model.native_precision, ""),
    )
    lines = (f"written: {', '.join(written)}; give the folder with --catalogs", model.note)
    return Section(f"{model.id}: {model.total_params_b:,.4g} B parameters", lines, Table(("", "is", ""), rows))
