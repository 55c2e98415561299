"""A model of one's own from its config.json, as rows for a folder of own catalog files."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from optimizer.base.errors import Finding, did_you_mean, refuse
from optimizer.base.files import read_bytes
from optimizer.base.model import Strict
from optimizer.base.units import BITS_PER_BYTE, BYTES_PER_GB
from optimizer.inputs.catalog.entries.models import Model, ModelAlias
from optimizer.inputs.catalog.entries.sources import Source
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.hf_config.row import CONFIG_NAME, Naming, model_of_config
from optimizer.performance.physics.facts import PLAIN_PRECISION, network_facts, weight_facts

HASH_DIGITS: Final = 12
NOT_IN_AN_ID: Final = re.compile(r"[^a-z0-9.]+")


@dataclass(frozen=True)
class AddedModel:
    """A model with the rows that name it and say where it is from."""

    model: Model
    source: Source
    alias: ModelAlias | None
    told: Mapping[str, str]
    """What was read of the configuration, by field."""
    released_gb: float
    """Of the weights as released, without heads that predict further tokens."""

    @property
    def tables(self) -> dict[str, tuple[Strict, ...]]:
        """What `write_overlay` writes."""
        aliases: dict[str, tuple[Strict, ...]] = {"aliases": (self.alias,)} if self.alias else {}
        return {"models": (self.model,), "sources": (self.source,), **aliases}


def add_model(
    config: Path,
    catalogs: Catalogs,
    *,
    name: str = "",
    hf_id: str = "",
    precision: str = "",
    licence: str = "not stated",
    as_of: date | None = None,
    replace: bool = False,
) -> AddedModel:
    """Reads a model's shapes, counted parameters and cache bytes; its weights are not read.

    Args:
        config: A folder with a Hugging Face config.json, or that file.
        catalogs: What is known.
        name: What scenarios call it; the folder's name unless given.
        hf_id: Its Hugging Face name; scenarios may then use it, too.
        precision: Of the weights, where the file's own is not understood.
        licence: Of the weights.
        as_of: Day of the file; the catalogs' own unless given.
        replace: Whether it may take a known model's place.

    Returns:
        Its rows, for `write_overlay`.

    Raises:
        InputError: the name is taken, the precision is not known, or the configuration cannot be described; all
            problems at once.
    """
    file = config / CONFIG_NAME if config.is_dir() else config
    name = name or NOT_IN_AN_ID.sub("-", file.absolute().parent.resolve().name.casefold()).strip("-")
    naming = Naming(
        id=name,
        hf_id=hf_id or name,
        licence=licence,
        source=f"config-{name}",
        as_of=as_of or catalogs.as_of,
        precision=precision,
    )
    _check(naming, catalogs, replace)
    read = model_of_config(config, naming, {scheme.id: scheme.weight_bits for scheme in catalogs.schemes.values()})
    digest = hashlib.sha256(read_bytes(file)).hexdigest()[:HASH_DIGITS]
    title = f"{CONFIG_NAME} of {name} (SHA-256 {digest})"
    return AddedModel(
        model=read.model,
        source=Source(id=naming.source, title=title, licence=licence, as_of=naming.as_of),
        alias=ModelAlias(hf_id=hf_id, model=name, relation="same") if hf_id else None,
        told=read.told,
        released_gb=released_gb(catalogs, read.model),
    )


def released_gb(catalogs: Catalogs, model: Model) -> float:
    """Size of a model's weights in the precision of their release: body, experts, and the rest in 16 bits."""
    sizes = network_facts(model)
    stored = weight_facts(catalogs, model, catalogs.scheme(model.native_precision))
    plain = catalogs.schemes[PLAIN_PRECISION].weight_bits / BITS_PER_BYTE
    unread_bits = model.unread_weight_bits or catalogs.schemes[PLAIN_PRECISION].weight_bits
    unread = sizes["unread_params"] * unread_bits / BITS_PER_BYTE
    unquantized = sizes["head_params"] + sizes["embedding_params"]
    body = sizes["body_params"] * stored["body_bytes_per_param"]
    experts = sizes["expert_params"] * stored["expert_bytes_per_param"]
    return (body + experts + unread + unquantized * plain) / BYTES_PER_GB


def _check(naming: Naming, catalogs: Catalogs, replace: bool) -> None:
    """A name that is free, and a precision that the catalogs know."""
    findings = []
    if naming.id in catalogs.models and not replace:
        hint = "choose another --id, or --replace to take its place in this overlay"
        findings.append(Finding("catalog add-model", 0, "--id", f"'{naming.id}' is in the catalog already", hint))
    if naming.precision and naming.precision not in catalogs.schemes:
        hint = did_you_mean(naming.precision, catalogs.schemes)
        findings.append(Finding("catalog add-model", 0, "--precision", f"unknown '{naming.precision}'", hint))
    refuse(findings)
