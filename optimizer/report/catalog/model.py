"""A model that was read from a configuration: what was read, what was counted, and the row that says so."""

from collections.abc import Mapping, Sequence

from optimizer.base.figures import figure
from optimizer.base.units import BYTES_PER_GIB, BYTES_PER_MIB
from optimizer.inputs.catalog.entries.models import Model
from optimizer.report.layout.elements import Section, Table

NOT_WRITTEN = "nothing was written: give --output FOLDER to write models.csv and sources.csv there"


def model_sections(
    model: Model, told: Mapping[str, str], released_gb: float, written: Sequence[str]
) -> tuple[Section, ...]:
    """The counted facts and where the row was written, what the configuration said, and the row."""
    lines = (f"written: {', '.join(written)}; give the folder with --catalogs" if written else NOT_WRITTEN, model.note)
    title = f"{model.id}: {figure(model.total_params_b, 4)} B parameters"
    cells = model.model_dump(mode="json", exclude_defaults=True)
    row = tuple((name, str(value)) for name, value in cells.items())
    return (
        Section(title, lines, Table(("", "is", ""), _facts(model, released_gb))),
        Section("Read from the configuration", (), Table(("field", "says"), tuple(told.items()))),
        Section("Its row in models.csv", (), Table(("column", "holds"), row)),
    )


def _facts(model: Model, released_gb: float) -> tuple[tuple[str, str, str], ...]:
    """What a plan rests on; lines that do not apply are left out."""
    experts = f"{model.moe_active_experts} of {model.moe_experts}" if model.moe_experts else "none, dense"
    window = f"{model.sliding_window_tokens:,} tokens" if model.sliding_window_tokens else "none"
    chosen = f"{model.sparse_attention_tokens:,} tokens" if model.sparse_attention_tokens else ""
    state_mib = model.linear_state_bytes_per_sequence / BYTES_PER_MIB
    token_mib = model.kv_bytes_per_token_bf16 / BYTES_PER_MIB
    part = {"routed_experts": "routed experts", "all_linear": "all linear layers", None: ""}
    rows = (
        ("parameters", figure(model.total_params_b, 4), "billion"),
        ("of them active", figure(model.active_params_b, 4), "billion"),
        ("beside them, read by no generated token", _billions(model.unread_params_b), "billion"),
        ("heads that predict further tokens", _billions(model.prediction_head_params_b), "billion, not counted above"),
        ("experts", experts, ""),
        ("layers", f"{model.layers}", f"{model.kv_cache_layers} of them keep a cache"),
        ("attention", f"{model.attention}, {model.kv_heads} KV heads of {model.head_dim}", ""),
        ("sliding window", window, ""),
        ("read of a long context", chosen, "chosen by an indexer"),
        ("KV cache a token", figure(token_mib), "MiB, 16 bits, all layers"),
        ("state a sequence", figure(state_mib) if state_mib else "", "MiB, whatever its length"),
        ("cache of a full context", figure(_full_context_gib(model)), f"GiB at {model.max_context_tokens:,} tokens"),
        ("weights as released", model.native_precision, part[model.native_quantized_part]),
        ("their size", figure(released_gb, 4), "GB"),
    )
    return tuple(row for row in rows if row[1])


def _billions(parameters_b: float) -> str:
    return figure(parameters_b) if parameters_b else ""


def _full_context_gib(model: Model) -> float:
    """Cache in 16 bits, indexer's keys and state of one sequence as long as the context, windows closed."""
    context, window = model.max_context_tokens, model.sliding_window_tokens
    total, layers = model.kv_bytes_per_token_bf16, model.kv_cache_layers
    near = model.window_kv_bytes_per_token_bf16
    near = total * (layers - model.global_attention_layers) / layers if near is None else near
    kept = (total - near) * context + near * min(context, window or context)
    return (kept + model.indexer_bytes_per_token * context + model.linear_state_bytes_per_sequence) / BYTES_PER_GIB
