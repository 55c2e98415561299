"""A model from a Hugging Face config.json: read strictly, counted exactly, refused where it is not understood."""

import json
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

from optimizer.base.errors import Finding, InputError
from optimizer.base.units import PARAMS_PER_BILLION
from optimizer.inputs.catalog.records import Model
from optimizer.inputs.importing.hf_architectures import ARCHITECTURES, Architecture
from optimizer.inputs.importing.parameters import ExpertShape, LatentShape, ParameterCounts, Shape, count_parameters

CONFIG_NAME: Final = "config.json"
BYTES_PER_16_BIT: Final = 2
DIGITS_OF_BILLIONS: Final = 4
SIXTEEN_BIT: Final = {"bfloat16": "bf16", "float16": "fp16"}
QUANTIZED: Final[dict[str, tuple[str, str]]] = {
    "fp8": ("fp8", "all_linear"),
    "mxfp4": ("mxfp4", "routed_experts"),
}
"""Quantization methods whose format is plain from their name."""

SHAPE_COLUMNS: Final = (
    "layers",
    "hidden_size",
    "attention_heads",
    "kv_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "tied_embeddings",
)
LATENT_COLUMNS: Final = ("kv_lora_rank", "qk_rope_head_dim", "q_lora_rank")
"""Columns of a model that a shape has under the same name."""

REFUSED_FIELDS: Final = ("hybrid_override_pattern", "index_topk", "linear_num_key_heads", "mamba_d_state")
"""Fields of attention that the catalog cannot describe from shapes alone."""


@dataclass
class _Reader:
    """The fields of a configuration; every problem is kept, so that all are reported at once."""

    file: str
    content: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)

    def count(self, name: str, *, least: int = 1, missing: int | None = None) -> int:
        """A whole number; `missing` stands for a field that is left out or null, where that has a meaning."""
        value = self.content.get(name)
        if value is None and missing is not None:
            return missing
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            shown = "is missing" if value is None else f"{value!r} is not a whole number from {least}"
            self.refuse(name, shown)
            return max(least, 1)
        return value

    def flag(self, name: str, *, missing: bool) -> bool:
        """Yes or no."""
        value = self.content.get(name)
        if value is not None and not isinstance(value, bool):
            self.refuse(name, f"{value!r} is not true or false")
        return missing if value is None else bool(value)

    def refuse(self, name: str, problem: str, hint: str = "") -> None:
        """Adds a problem of a field."""
        self.findings.append(Finding(self.file, 0, name, problem, hint))


@dataclass(frozen=True)
class Naming:
    """What a config.json does not say of its model: names, licence, where it is from and when."""

    id: str
    hf_id: str
    licence: str
    source: str
    as_of: date
    precision: str = ""
    """Of the weights, where the configuration's own is not one that is understood."""


def model_of_config(path: Path, naming: Naming) -> Model:
    """The catalog row of a model whose config.json stands at the path, or in the folder there.

    Raises:
        InputError: no such file, not JSON, an architecture that is not known, or a field that is missing or
            means something that the catalog cannot describe; all problems at once.
    """
    file = path / CONFIG_NAME if path.is_dir() else path
    content = _content(file)
    text = content.get("text_config")
    fields = _Reader(str(file), content if text is None else {**content, **text})
    architecture = _architecture(fields)
    for name in REFUSED_FIELDS:
        if fields.content.get(name) is not None:
            fields.refuse(name, "describes attention that shapes alone don't", "write the row into models.csv by hand")
    shape = _shape(fields, architecture)
    window, global_layers = _windows(fields, architecture, shape.layers)
    precision, part = _precision(fields, naming.precision)
    context = fields.count("max_position_embeddings")
    if fields.findings:
        raise InputError(fields.findings)
    return Model.model_validate(
        {
            **_row(shape, count_parameters(shape), naming),
            "max_context_tokens": context,
            "sliding_window_tokens": window,
            "global_attention_layers": global_layers,
            "attention": _attention_name(shape, window),
            "native_precision": precision,
            "native_quantized_part": part,
            "note": "" if text is None else "text tower only",
        }
    )


def _content(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Finding(str(file), 0, "", "cannot be read", "give the folder that holds it")]) from error
    except json.JSONDecodeError as error:
        raise InputError([Finding(str(file), error.lineno, "", f"broken JSON: {error.msg}")]) from error
    if not isinstance(content, dict) or not isinstance(content.get("text_config", {}), dict):
        raise InputError([Finding(str(file), 1, "", "is not a model's configuration")])
    return content


def _architecture(fields: _Reader) -> Architecture:
    name = fields.content.get("model_type")
    known = ARCHITECTURES.get(name) if isinstance(name, str) else None
    if known is None:
        fields.refuse("model_type", f"{name!r} is not understood", f"known: {', '.join(ARCHITECTURES)}")
        raise InputError(fields.findings)
    return known


def _shape(fields: _Reader, architecture: Architecture) -> Shape:
    heads, hidden = fields.count("num_attention_heads"), fields.count("hidden_size")
    latent = _latent(fields) if architecture.latent else None
    if latent is not None:
        kv_heads, head_dim = heads, latent.qk_nope_head_dim + latent.qk_rope_head_dim
    else:
        kv_heads = fields.count("num_key_value_heads", missing=heads if architecture.kv_heads_may_be_left_out else None)
        head_dim = fields.count("head_dim", missing=hidden // heads if architecture.head_dim_may_be_left_out else None)
    if heads % kv_heads:
        fields.refuse("num_key_value_heads", f"{kv_heads} does not divide the {heads} attention heads")
    return Shape(
        architecture=architecture,
        layers=fields.count("num_hidden_layers"),
        hidden_size=hidden,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        intermediate_size=fields.count("intermediate_size"),
        vocab_size=fields.count("vocab_size"),
        tied_embeddings=fields.flag("tie_word_embeddings", missing=architecture.tied_embeddings),
        attention_bias=fields.flag("attention_bias", missing=False),
        mlp_bias=fields.flag("mlp_bias", missing=False),
        sinks=architecture.window == "by layer type" and architecture.experts == "local",
        latent=latent,
        experts=_experts(fields, architecture),
    )


def _latent(fields: _Reader) -> LatentShape:
    return LatentShape(
        kv_lora_rank=fields.count("kv_lora_rank"),
        q_lora_rank=fields.count("q_lora_rank", missing=0),
        qk_nope_head_dim=fields.count("qk_nope_head_dim"),
        qk_rope_head_dim=fields.count("qk_rope_head_dim"),
        v_head_dim=fields.count("v_head_dim"),
    )


def _experts(fields: _Reader, architecture: Architecture) -> ExpertShape | None:
    """The experts in the words of each family of configurations."""
    if architecture.experts == "local":
        return _local_experts(fields, biases=architecture.attention_bias == "all")
    if architecture.experts == "qwen":
        return _qwen_experts(fields)
    return _deepseek_experts(fields) if architecture.experts == "deepseek" else None


def _local_experts(fields: _Reader, *, biases: bool) -> ExpertShape:
    return ExpertShape(
        experts=fields.count("num_local_experts"),
        active=fields.count("num_experts_per_tok"),
        intermediate_size=fields.count("intermediate_size"),
        router_bias=biases,
        biases=biases,
    )


def _qwen_experts(fields: _Reader) -> ExpertShape:
    if fields.content.get("mlp_only_layers"):
        fields.refuse("mlp_only_layers", "single dense layers among the experts are not understood")
    shared = fields.count("shared_expert_intermediate_size", least=0, missing=0)
    return ExpertShape(
        experts=fields.count("num_experts"),
        active=fields.count("num_experts_per_tok"),
        intermediate_size=fields.count("moe_intermediate_size"),
        shared_intermediate_size=shared,
        shared_gate=shared > 0,
        layer_step=fields.count("decoder_sparse_step"),
    )


def _deepseek_experts(fields: _Reader) -> ExpertShape:
    width = fields.count("moe_intermediate_size")
    return ExpertShape(
        experts=fields.count("n_routed_experts"),
        active=fields.count("num_experts_per_tok"),
        intermediate_size=width,
        shared_intermediate_size=fields.count("n_shared_experts", least=0, missing=0) * width,
        router_bias=fields.content.get("topk_method") == "noaux_tc",
        first_dense_layers=fields.count("first_k_dense_replace", least=0),
        layer_step=fields.count("moe_layer_freq", missing=1),
    )


def _windows(fields: _Reader, architecture: Architecture, layers: int) -> tuple[int | None, int]:
    """Width of the sliding window, and how many layers see the whole context."""
    stated = fields.content.get("sliding_window")
    kind = architecture.window
    if kind == "switched" and not fields.flag("use_sliding_window", missing=False):
        stated = None
    if kind == "none" or stated is None:
        if kind in ("alternating", "by layer type"):
            fields.count("sliding_window")
        return None, layers
    window = fields.count("sliding_window")
    if window >= fields.count("max_position_embeddings"):
        return None, layers
    return window, _global_layers(fields, architecture, layers)


def _global_layers(fields: _Reader, architecture: Architecture, layers: int) -> int:
    types = fields.content.get("layer_types")
    if isinstance(types, list):
        for name in sorted(set(map(str, types)) - {"full_attention", "sliding_attention"}):
            fields.refuse("layer_types", f"'{name}' is not understood", "known: full_attention, sliding_attention")
        return types.count("full_attention")
    if architecture.window == "alternating":
        return layers // fields.count("sliding_window_pattern", missing=architecture.global_every)
    if architecture.window == "switched":
        return min(layers, fields.count("max_window_layers", least=0))
    if architecture.window == "by layer type":
        fields.refuse("layer_types", "is missing")
    return 0


def _precision(fields: _Reader, stated: str) -> tuple[str, str | None]:
    """What the weights are stored in, and which of them; a user's word stands above the configuration's."""
    hint = "give --precision"
    if stated:
        return stated, None
    quantization = fields.content.get("quantization_config")
    if quantization is not None:
        method = quantization.get("quant_method") if isinstance(quantization, dict) else None
        if method in QUANTIZED:
            return QUANTIZED[method]
        if method in ("awq", "gptq") and quantization.get("bits") == 4:
            return "int4", "all_linear"
        fields.refuse("quantization_config.quant_method", f"{method!r} is not understood", hint)
        return "", None
    stored = str(fields.content.get("dtype") or fields.content.get("torch_dtype") or "nothing")
    if stored not in SIXTEEN_BIT:
        fields.refuse("torch_dtype", f"'{stored}' is not one of {', '.join(SIXTEEN_BIT)}", hint)
        return "", None
    return SIXTEEN_BIT[stored], None


def _row(shape: Shape, counted: ParameterCounts, naming: Naming) -> dict[str, object]:
    """The columns that follow from the shapes and from what the user said."""
    latent = shape.latent
    per_layer = latent.kv_lora_rank + latent.qk_rope_head_dim if latent else 2 * shape.kv_heads * shape.head_dim
    return {
        **{name: getattr(naming, name) for name in ("id", "hf_id", "licence", "source", "as_of")},
        **{f"{name}_b": _billions(count) for name, count in asdict(counted).items()},
        **{name: getattr(shape, name) for name in SHAPE_COLUMNS},
        "mlp_gated": True,
        "kv_cache_layers": shape.layers,
        "kv_bytes_per_token_bf16": BYTES_PER_16_BIT * shape.layers * per_layer,
        **({name: getattr(latent, name) for name in LATENT_COLUMNS} if latent else {}),
        **(_expert_columns(shape.experts) if shape.experts else {}),
    }


def _expert_columns(experts: ExpertShape) -> dict[str, object]:
    return {
        "moe_experts": experts.experts,
        "moe_active_experts": experts.active,
        "moe_intermediate_size": experts.intermediate_size,
        "moe_shared_intermediate_size": experts.shared_intermediate_size or None,
        "moe_first_dense_layers": experts.first_dense_layers,
        "moe_layer_step": experts.layer_step,
    }


def _billions(parameters: int) -> float:
    return round(parameters / PARAMS_PER_BILLION, DIGITS_OF_BILLIONS)


def _attention_name(shape: Shape, window: int | None) -> str:
    if shape.latent is not None:
        return "mla"
    kind = "mha" if shape.kv_heads == shape.attention_heads else "mqa" if shape.kv_heads == 1 else "gqa"
    return f"{kind}-swa" if window is not None else kind
