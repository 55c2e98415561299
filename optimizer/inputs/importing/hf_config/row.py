"""The catalog's row of a model whose config.json is given."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.importing.hf_config.columns.cache import cache_columns
from optimizer.inputs.importing.hf_config.columns.counted import counted_columns, shape_columns
from optimizer.inputs.importing.hf_config.columns.stored import stored_columns
from optimizer.inputs.importing.hf_config.decoder.decoder import read_decoder
from optimizer.inputs.importing.hf_config.decoder.networks import DENSE_WIDTHS, experts_of
from optimizer.inputs.importing.hf_config.encoders.encoders import encoder_params
from optimizer.inputs.importing.hf_config.families.chosen import family_of
from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields, beside_text, load_json, text_fields
from optimizer.inputs.importing.hf_config.layers.feed_forward import ExpertNetwork
from optimizer.inputs.importing.hf_config.layers.stack import Decoder, Layer
from optimizer.inputs.importing.hf_config.other_uses import ATTENTION_HINT, refuse_other_uses

NOT_A_MODEL: Final = "write the row into models.csv by hand, or mend the file"
CONFIG_NAME: Final = "config.json"
QUANTIZATION_NAME: Final = "hf_quant_config.json"
LARGE_TABLES: Final = 0.1
"""Of a model's other parameters: a share from which on tables that are looked up deserve a word."""
QUANTIZATIONS: Final = ("NVFP4", "MXFP4", "FP8", "AWQ", "GPTQ", "INT4", "INT8")
"""Words that stand in the names of quantized checkpoints."""


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


@dataclass(frozen=True)
class ReadModel:
    """A model's row, and what its configuration said that led to it, by field."""

    model: Model
    told: Mapping[str, str]


def model_of_config(path: Path, naming: Naming, weight_bits: Mapping[str, float]) -> ReadModel:
    """The catalog row of a model whose config.json stands at the path, or in the folder there.

    Args:
        path: A folder, or the file in it.
        naming: What the file does not say.
        weight_bits: Bits per quantized weight of each precision scheme.

    Raises:
        InputError: no such file, not JSON, an architecture that is not known, a model that does not generate text, or
            a field that is missing or means something that the catalog cannot describe; all problems at once.
    """
    file = path / CONFIG_NAME if path.is_dir() else path
    whole = load_json(file)
    fields = text_fields(file, whole)
    try:
        row = _described(fields, whole, file, naming, weight_bits)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, re.error) as error:
        # nobody can name every field that another program may have written otherwise: here they meet
        fields.refuse("", "its fields contradict each other or are of another kind than a model's", NOT_A_MODEL)
        raise InputError(fields.findings) from error
    return ReadModel(row, fields.told())


def _described(
    fields: Fields,
    whole: dict[str, Any],
    file: Path,
    naming: Naming,
    weight_bits: Mapping[str, float],
) -> Model:
    """The row; problems are raised where nothing can be read without them being mended."""
    refuse_other_uses(fields, whole, (naming.hf_id, naming.id))
    fields.check()
    family = family_of(fields)
    decoder = read_decoder(fields, family)
    if not fields.findings and not any(kept.token or kept.window_token for kept in map(Layer.kept, decoder.layers)):
        fields.refuse("layer_types", "no layer has attention", ATTENTION_HINT)
    cached = cache_columns(fields, family, decoder)
    context = fields.count("max_position_embeddings", "model_max_length")
    # experts may be described where no layer has any
    described, networks = experts_of(fields, family), [layer.feed_forward for layer in decoder.layers]
    experts = next((network for network in networks if isinstance(network, ExpertNetwork)), None)
    width = fields.count(*DENSE_WIDTHS, missing=experts.width if experts else described.width if described else 1)
    stored = _stored(fields, family, decoder, file, naming.precision, weight_bits)
    counted = decoder.counted().total_params
    vision, uncounted = encoder_params(fields, beside_text(whole), decoder, counted)
    fields.refuse_unread()
    fields.check()
    return Model.model_validate(
        {
            **{name: getattr(naming, name) for name in ("id", "hf_id", "licence", "source", "as_of")},
            **counted_columns(decoder, vision),
            **shape_columns(decoder, experts, width),
            **cached,
            **stored,
            "max_context_tokens": context,
            "note": "; ".join((*_notes(whole, stored, naming), *_notes_of_tables(decoder, counted), *uncounted)),
        }
    )


def _stored(
    fields: Fields,
    family: ModelFamily,
    decoder: Decoder,
    file: Path,
    stated: str,
    weight_bits: Mapping[str, float],
) -> dict[str, object]:
    """Precision of the weights as released; a user's word stands above the configuration's."""
    if stated:
        return {"native_precision": stated, "native_quantized_part": None}
    beside = _quantization_beside(file)
    return stored_columns(fields, family, decoder, beside=beside, weight_bits=weight_bits)


def _quantization_beside(file: Path) -> dict[str, Any] | None:
    """What ModelOpt writes beside a config.json that does not say it."""
    beside = file.parent / QUANTIZATION_NAME
    entry = load_json(beside).get("quantization") if os.path.lexists(beside) else None
    return entry if isinstance(entry, dict) else None


def _notes_of_tables(decoder: Decoder, counted: int) -> list[str]:
    large = decoder.lookup_params > LARGE_TABLES * counted
    return (
        ["tables of looked-up rows count in the GPUs' memory; an engine may keep them in the host's"] if large else []
    )


def _notes(whole: dict[str, Any], stored: dict[str, object], naming: Naming) -> list[str]:
    notes = []
    if whole.get("vision_config") or whole.get("audio_config"):
        notes.append("parameters of the text part; encoders are counted apart")
    named = next((word for word in QUANTIZATIONS if word in naming.hf_id.upper()), None)
    if named and not naming.precision and stored["native_quantized_part"] is None:
        notes.append(
            f"the name says {named}, but {CONFIG_NAME} states no quantization: put {QUANTIZATION_NAME} beside it"
        )
    return notes
