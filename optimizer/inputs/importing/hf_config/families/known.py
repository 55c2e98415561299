"""Families of configurations that are understood, by `model_type`."""

from typing import Final

from optimizer.inputs.importing.hf_config.families.dense import DENSE_FAMILIES
from optimizer.inputs.importing.hf_config.families.experts import EXPERT_FAMILIES
from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.families.hybrids import HYBRID_FAMILIES
from optimizer.inputs.importing.hf_config.families.latent import LATENT_FAMILIES
from optimizer.inputs.importing.hf_config.families.own_words import OWN_WORDS

FAMILIES: Final[dict[str, ModelFamily]] = {
    **DENSE_FAMILIES,
    **EXPERT_FAMILIES,
    **HYBRID_FAMILIES,
    **LATENT_FAMILIES,
    **OWN_WORDS,
}
"""Source: the modelling code that Hugging Face transformers 5.23.0 runs for each, and that of the published models for
`mimo`, `minimax_m3` and `nemotron-nas`; 5.24.0 for those that call their fields as GPT-2 did, and the models' own code
for `chatglm` and `qwen`."""
