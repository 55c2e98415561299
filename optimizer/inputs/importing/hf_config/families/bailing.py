"""Ling's two hybrids of one name, told apart by whether their layers with a state have short convolutions."""

from dataclasses import replace
from typing import Final

from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields

BAILING: Final = "bailing_hybrid"


def bailing_family(fields: Fields, family: ModelFamily) -> ModelFamily:
    """The family of Ling 3, or that of Ling 2.5, whose layers with a state are lightning attention.

    Source: `bailing_moe_v3` and `bailing_moe_linear` of vLLM 0.33.
    """
    convolutions = fields.get("short_conv_kernel_size", "linear_conv_kernel_dim", "linear_attn_config")
    return family if convolutions is not None else replace(family, recurrent="lightning", gate="none", gate_field="")
