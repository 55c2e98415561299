"""Falcon's switches of its own, said in the fields of other families."""

from dataclasses import replace
from typing import Final

from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields

FALCON: Final = "falcon"
WIDENING: Final = 4
"""Of the feed-forward network, where no width is stated."""


def falcon_family(fields: Fields, family: ModelFamily) -> ModelFamily:
    """The family with the key heads, norms and width that a configuration's switches choose.

    Its first models share one key and value among all heads; those of the new architecture state how many there are.
    Where attention and network run side by side, one norm serves both unless the new architecture has two.

    Source: the modelling code of `falcon` in Hugging Face transformers 5.23.0.
    """
    heads, renewed = fields.count("num_attention_heads"), fields.flag("new_decoder_architecture", missing=False)
    shared = fields.flag("multi_query", missing=True) and not renewed
    parallel = fields.flag("parallel_attn", missing=True)
    norms = fields.count("num_ln_in_parallel_attn", missing=2 if renewed else 1) if parallel else 2
    implied = {
        "num_key_value_heads": 1 if shared else fields.count("num_kv_heads", missing=heads),
        "intermediate_size": fields.count("ffn_hidden_size", missing=WIDENING * fields.count("hidden_size")),
    }
    return replace(family, norms=norms, defaults={**family.defaults, **implied})
