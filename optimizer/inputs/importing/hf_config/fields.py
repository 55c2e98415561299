"""The fields of a config.json, read strictly: every problem is kept, so that all are reported at once."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import read_json

TEXT_PARTS: Final = ("thinker_config", "text_config", "llm_config", "language_config")
"""Where a multimodal model's configuration describes the part that reads and writes text, or what that stands in."""
TIED: Final = "tie_word_embeddings"
EITHER_TIES: Final = ("fast_vlm", "glm4v", "llava", "minimax_m3_vl", "paddleocr_vl", "qwen2_5_vl", "qwen2_vl")
"""Beginnings of the `model_type` of wholes whose embedding is tied where either part says so."""
DTYPES: Final = ("dtype", "torch_dtype")
MECHANISMS: Final = (
    *("index_topk", "sparse_attention_config", "compress_ratios", "kv_lora_rank", "num_kv_shared_layers"),
    *("linear_num_key_heads", "linear_attn_config", "attn_type_list", "full_attention_interval"),
    *("hybrid_override_pattern", "layers_block_type", "hybrid_layer_pattern", "block_configs", "attention_chunk_size"),
    *("mamba_d_state", "mamba_num_heads", "ssm_state_size", "conv_L_cache", "hidden_size_per_layer_input"),
    *("moe_latent_size", "routed_expert_hidden_size", "moe_hidden_size", "loop_num_passes", "H_cycles", "num_loops"),
    *("mova_num_experts", "mixer_types", "n_routed_experts", "num_local_experts", "num_experts"),
    *("moe_num_experts", "zero_expert_num", "hc_mult", "swa_num_key_value_heads", "num_global_key_value_heads"),
    *("attn_res_block_size", "engram_config", "oe_vocab_size_ratio", "block_auto_adjust_ff_dim"),
    *("num_attention_heads_per_layer", "kv_pooling_size", "use_cla", "per_layer_config"),
    *("attn_layer_period", "attn_layer_indices", "expert_layer_period", "cross_attention_layers", "altup_num_inputs"),
    *("share_q_dim", "ngram_vocab_size_ratio", "engram_layer_ids", "ple_layer_ids", "kv_source_layer_ids"),
    *("num_mem_blocks", "n_recurrent_loops", "laurel_rank", "d_rel", "sconv_kernel_size", "gated_norm_rank"),
    *("hc_count", "sparse_config", "indexer_budget", "index_source_layer_ids", "swa_kv_lora_rank"),
)
"""Fields that change what a layer holds or keeps. One that is stated and that nobody read is refused, not ignored."""

BY_LAYER: Final = frozenset(
    {"intermediate_size", "moe_intermediate_size", "moe_topk", "num_shared_expert", "num_experts"}
)
"""Fields that some families state for every layer on its own. A list of one and the same number is that number."""
SHOWN_KINDS: Final = 4
MOST: Final = 10**9
"""Of whatever a configuration counts: no vocabulary, width or context has more."""
LAYERS_OF_THEIR_OWN: Final = "per_layer_config"
OF_A_KIND: Final = {
    "head_dim": ("global_head_dim", "swa_head_dim"),
    "num_key_value_heads": ("num_global_key_value_heads", "swa_num_key_value_heads"),
    "num_attention_heads": ("swa_num_attention_heads",),
    **{
        name: (f"swa_{name}",)
        for name in ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    },
}
"""What a field is called where it is that of one kind of layers."""
LAYERS: Final = ("num_hidden_layers", "num_nextn_predict_layers")
MOST_LAYERS: Final = 10_000
"""Each is written out, one by one."""
SHOWN_CHARACTERS: Final = 60


@dataclass
class Fields:
    """A configuration's fields, what was read of them, and what was wrong with them."""

    file: str
    content: dict[str, Any]
    """Of the part that reads and writes text; what it leaves out is taken from the whole."""
    findings: list[Finding] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    defaults: Mapping[str, object] = field(default_factory=dict)
    """What the modelling code takes for fields that are left out."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """What else this family calls a field; a dot leads into a group of fields."""
    nested: bool = False
    """Whether the text part stands within another's configuration, where defaults are left out when it is written."""

    def get(self, *names: str) -> Any:
        """The first of these fields that is stated and not null, else the first that has a default."""
        names = self._also(names)
        self.seen.update(name.partition(".")[0] for name in names)
        found = (_within(each, name) for each in (self.content, self.defaults) for name in names)
        return next((value for value in found if value is not None), None)

    def count(self, *names: str, least: int = 1, missing: int | None = None) -> int:
        """A whole number under any of these names; `missing` stands for null where that has a meaning."""
        value, most = self.get(*names), MOST_LAYERS if names[0] in LAYERS else MOST
        value = _same_everywhere(value) if BY_LAYER.intersection(names) else value
        if value is None and missing is not None:
            return missing
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            shown = "is missing" if value is None else f"{_cut(value)} is not a whole number from {least} to {most:,}"
            called = self._also(names)[1:]
            others = f"elsewhere called {', '.join(called)}" if value is None and called else ""
            self.refuse(self.stated(*names), shown, others)
            return max(least, 1)
        return value

    def whole(self, name: str, value: Any) -> int:
        """One entry of a list of whole numbers."""
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
            self.refuse(name, f"{_cut(value)} is not a whole number from 1 to {MOST:,}")
            return 1
        return value

    def flag(self, name: str, *, missing: bool) -> bool:
        """Yes or no."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            self.refuse(name, f"{value!r} is not true or false")
        return missing if value is None else bool(value)

    def per_layer(self, *names: str, layers: int) -> list[Any] | None:
        """A list with an entry for each layer, cut where the configuration goes on with its prediction heads."""
        value = self.get(*names)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) < layers:
            self.refuse(self.stated(*names), f"is not a list of {layers} layers")
            return None
        return value[:layers]

    def group(self, name: str) -> "Fields":
        """The fields inside a field; none where it is left out. Their problems join these."""
        value = self.get(name)
        if value is not None and not isinstance(value, dict):
            self.refuse(name, "is not a group of fields")
        return Fields(self.file, value if isinstance(value, dict) else {}, self.findings)

    def of_layer(self, layer: int) -> "Fields":
        """The fields as they are in one layer, where `per_layer_config` says that it differs. Problems join these.

        Source: `HeterogeneousConfigMixin` of Hugging Face transformers 5.24.0.
        """
        layers = self.get(LAYERS_OF_THEIR_OWN)
        if layers is None:
            return self
        entries = layers.items() if isinstance(layers, dict) else enumerate(layers)
        own = next((entry for at, entry in entries if int(at) == layer), None) or {}
        if own.get("skip"):
            self.refuse(LAYERS_OF_THEIR_OWN, f"layer {layer} skips {own['skip']}, which is not understood")
        # what a kind of layers has on its own stands back behind what this layer has
        own = {**{of_kind: own[name] for name in own for of_kind in OF_A_KIND.get(name, ())}, **own}
        return replace(self, content={**self.content, **own})

    def of_heads(self) -> "Fields":
        """The fields as they are in heads that guess further tokens, which may have experts of their own."""
        stated = {name: self.get(f"dspark_{name}") for name in ("n_routed_experts", "num_experts_per_tok")}
        return replace(self, content={**self.content, **{name: v for name, v in stated.items() if v is not None}})

    def stated(self, *names: str) -> str:
        """Which of these names the configuration uses; the first where it uses none."""
        also = self._also(names)
        return next((name for name in also if _within(self.content, name) is not None), names[0])

    def _also(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """These names, each with what this family calls it."""
        return tuple(each for name in names for each in (name, self.renamed.get(name)) if each)

    def told(self) -> dict[str, str]:
        """What was read of the configuration: each field that it states and that somebody asked for, in short."""
        return {name: _short(value) for name, value in self.content.items() if name in self.seen and value is not None}

    def refuse(self, name: str, problem: str, hint: str = "") -> None:
        """Adds a problem of a field, once."""
        finding = Finding(self.file, 0, name, problem, hint)
        if finding not in self.findings:
            self.findings.append(finding)

    def refuse_unread(self) -> None:
        """Refuses every stated mechanism that nobody asked for."""
        for name in MECHANISMS:
            value = self.content.get(name)
            # one expert, one stream or every layer is what a model without the mechanism has
            if name not in self.seen and value and (value is True or value != 1):
                self.refuse(name, "is not understood in a model of this kind", "write the row into models.csv by hand")

    def check(self) -> None:
        """Raises InputError with every problem so far."""
        if self.findings:
            raise InputError(self.findings)


def _within(content: Mapping[str, object], name: str) -> Any:
    """What a field says, or a field of a group where a dot leads there."""
    group, _, inner = name.partition(".")
    value = content.get(group)
    if not inner:
        return value
    return value.get(inner) if isinstance(value, Mapping) else None


def _same_everywhere(value: Any) -> Any:
    """The number that a list states for every layer, where it is one and the same; else what was stated."""
    alike = isinstance(value, list) and value and all(each == value[0] for each in value)
    return value[0] if alike else value


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def _short(value: object) -> str:
    """A field's value on one line: a list of layers as how many there are of each kind."""
    if isinstance(value, dict):
        return f"{len(value)} fields"
    if isinstance(value, list):
        kinds = Counter("a group of fields" if isinstance(each, dict) else str(each) for each in value)
        few = [f"{count} × {kind}" for kind, count in kinds.most_common(SHOWN_KINDS)]
        return ", ".join(few if len(kinds) <= SHOWN_KINDS else [*few, "…"]) or "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)


def load_json(file: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises InputError: no such file, not JSON, or not an object."""
    content = read_json(file, "give the folder that holds it")
    if not isinstance(content, dict):
        raise InputError([Finding(str(file), 1, "", "is not a model's configuration")])
    return content


def text_fields(file: Path, content: dict[str, Any]) -> Fields:
    """The fields of the part that reads and writes text."""
    merged, part = content, _text_part(file, content)
    while part is not None:
        merged = {**merged, **part}
        part = _text_part(file, part)
    # the file's own precision is that of the whole; a part's is what it was made from
    dtypes = {name: content.get(name) for name in DTYPES} if any(content.get(name) for name in DTYPES) else {}
    return Fields(str(file), {**merged, **dtypes, **_tied(content)}, nested=merged is not content)


def _tied(content: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the head is the embedding, where a whole says it beside its text part: head and word are the whole's.

    Source: `get_expanded_tied_weights_keys` of Hugging Face transformers 5.24.0, and the classes that take either word.
    """
    text, stated = content.get("text_config"), content.get(TIED)
    if not isinstance(text, dict) or not isinstance(stated, bool):
        return {}
    either = str(content.get("model_type")).startswith(EITHER_TIES)
    return {TIED: stated or (either and text.get(TIED) is True)}


def beside_text(content: dict[str, Any]) -> dict[str, Any]:
    """The configuration that encoders of images and sound stand in, beside the text part."""
    outer = content.get(TEXT_PARTS[0])
    return outer if isinstance(outer, dict) else content


def _text_part(file: Path, content: Mapping[str, Any]) -> dict[str, Any] | None:
    part = next((content[name] for name in TEXT_PARTS if name in content), None)
    if part is not None and not isinstance(part, dict):
        raise InputError([Finding(str(file), 1, "", "is not a model's configuration")])
    return part
