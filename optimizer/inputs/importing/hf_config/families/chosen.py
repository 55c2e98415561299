"""The family that a configuration names."""

from optimizer.base.errors import some_of
from optimizer.inputs.importing.hf_config.families.also_called import ALSO_CALLED, BY_ARCHITECTURE
from optimizer.inputs.importing.hf_config.families.bailing import BAILING, bailing_family
from optimizer.inputs.importing.hf_config.families.falcon import FALCON, falcon_family
from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.families.known import FAMILIES
from optimizer.inputs.importing.hf_config.families.nested import NESTED_DEFAULTS
from optimizer.inputs.importing.hf_config.families.spoken import say_by_layer, say_of_text
from optimizer.inputs.importing.hf_config.fields import Fields


def family_of(fields: Fields) -> ModelFamily:
    """The family that the configuration names; its defaults stand in for what the configuration leaves out.

    Raises:
        InputError: nobody knows it.
    """
    classes, name = fields.get("architectures") or [], fields.get("model_type")
    kind = ALSO_CALLED.get(name, name) if isinstance(name, str) else ""
    if kind not in FAMILIES:
        kind = next((BY_ARCHITECTURE[each] for each in classes if each in BY_ARCHITECTURE), kind)
    known = FAMILIES.get(kind)
    if known is None:
        known_ones = f"known: {some_of(sorted(FAMILIES))}; a row of models.csv may be written by hand"
        fields.refuse("model_type", f"{name!r} is not understood", known_ones)
        fields.check()
        raise AssertionError
    fields.renamed = known.renamed
    if known.by_block:
        say_by_layer(fields)
    if known.by_modality:
        say_of_text(fields)
    family = falcon_family(fields, known) if kind == FALCON else known
    family = bailing_family(fields, known) if kind == BAILING else family
    # what is stated as null stays without a value, as it does where the class is asked
    left_out = NESTED_DEFAULTS.get(kind, {}) if fields.nested else {}
    fields.defaults = {name: v for name, v in left_out.items() if name not in fields.content} | dict(family.defaults)
    if family.widening:
        width = fields.count("expansion_ratio", missing=family.widening) * fields.count("hidden_size")
        fields.defaults = {**fields.defaults, "intermediate_size": width}
    return family
