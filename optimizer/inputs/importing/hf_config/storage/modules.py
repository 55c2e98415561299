"""Modules that a quantization entry names, each with a format of its own."""

from collections.abc import Mapping
from typing import Any, Final

from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.storage.formats import (
    HINT,
    METHODS,
    SIXTEEN_BIT,
    WeightFormat,
    group_format,
    integers_format,
    quark_format,
)

EVERY_LINEAR: Final = "Linear"
"""What a group of compressed-tensors or ModelOpt is of where it is of every linear layer."""


def named_modules(fields: Fields, entry: Mapping[str, Any]) -> list[tuple[str, WeightFormat]]:
    """Names or patterns of modules, each with its format; where several fit a module, the last holds."""
    return [*_targeted(fields, entry), *_excepted(fields, entry), *_left_or_listed(entry)]


def _targeted(fields: Fields, entry: Mapping[str, Any]) -> list[tuple[str, WeightFormat]]:
    """Modules with a format of their own by the entry's groups: compressed-tensors' targets, Quark's layers."""
    found = []
    for group in groups_of(entry):
        targets = targets_of(group)
        for target in targets:
            # a class of layers: nobody but the modelling code knows which they are
            if target[:1].isupper():
                fields.refuse("quantization_config.config_groups", f"target {target!r} is not understood", HINT)
        how = group_format(fields, group) if targets else SIXTEEN_BIT["bfloat16"]
        found += [(target, how) for target in targets]
    layers = entry.get("layer_quant_config")
    for module, how in layers.items() if isinstance(layers, Mapping) else ():
        found.append((str(module), quark_format(fields, "layer_quant_config", how)))
    return found


def _excepted(fields: Fields, entry: Mapping[str, Any]) -> list[tuple[str, WeightFormat]]:
    """Modules that GPTQ and AutoRound files except: GPTQModel's `dynamic`, where the first that matches holds, and
    AutoRound's `extra_config`.
    """
    found = []
    for name in ("dynamic", "extra_config"):
        modules = entry.get(name)
        for module, how in reversed(list(modules.items())) if isinstance(modules, Mapping) else ():
            pattern = f"re:{module.removeprefix('+:').removeprefix('-:')}" if name == "dynamic" else module
            stated = {**entry, **how} if isinstance(how, Mapping) else entry
            kept = module.startswith("-:") or stated.get("bits") in (16, 32)
            found.append((pattern, SIXTEEN_BIT["bfloat16"] if kept else integers_format(fields, stated, name)))
    return found


def _left_or_listed(entry: Mapping[str, Any]) -> list[tuple[str, WeightFormat]]:
    """Modules that the entry names, with their format: those left as they are, and those with one of their own."""
    named: list[tuple[str, WeightFormat]] = []
    own = entry.get("quantized_layers") or {}
    stays_in_fp8 = entry.get("quant_method") == "fp8" and own
    left = entry.get("ignore") or entry.get("modules_to_not_convert") or entry.get("exclude_modules") or ()
    left = left or entry.get("exclude") or entry.get("ignored_layers") or entry.get("llm_int8_skip_modules") or ()
    left = [left] if isinstance(left, str) else left
    if not stays_in_fp8:
        named += [(str(each), SIXTEEN_BIT["bfloat16"]) for each in left]
    for module, how in own.items():
        algorithm = str(how.get("quant_algo") if isinstance(how, Mapping) else how).casefold()
        named += [(module, METHODS[algorithm])] if algorithm in METHODS else []
    return named


def groups_of(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Groups of modules that compressed-tensors or ModelOpt stored alike."""
    groups = entry.get("config_groups") or {}
    return [group for group in groups.values() if isinstance(group, Mapping)] if isinstance(groups, Mapping) else []


def targets_of(group: Mapping[str, Any]) -> list[str]:
    """The modules that a group is of; none where it is of every linear layer."""
    targets = [str(each) for each in group.get("targets") or ()]
    return [] if EVERY_LINEAR in targets else targets
