"""Configurations of models that do not write text token by token, refused by what they are."""

import re
from collections.abc import Mapping
from typing import Any, Final

from optimizer.inputs.importing.hf_config.fields import Fields

BY_NAME: Final = (
    (re.compile(r"rerank", re.IGNORECASE), "a reranker"),
    (re.compile(r"embed(?!d?ed)", re.IGNORECASE), "an embedding model"),
    (re.compile(r"whisper|[-_](?:asr|tts)(?:[-_.]|$)", re.IGNORECASE), "a speech model"),
    (re.compile(r"[-_](?:reward|prm|rm)(?:[-_.]|$)", re.IGNORECASE), "a reward model"),
)
"""Words in the name of a model whose configuration is that of a language model."""
BY_ARCHITECTURE: Final = (
    (re.compile(r"ForSequenceClassification$|ForRewardModel$|RewardModel$"), "a reranker, classifier or reward model"),
    (re.compile(r"For(?:Token|Image|Audio)Classification$|ForQuestionAnswering$|ForMultipleChoice$"), "a classifier"),
    (re.compile(r"ForMaskedLM$|ForPreTraining$"), "an encoder"),
    (re.compile(r"ForSpeechSeq2Seq$|ForCTC$|Whisper|Speech|Audio|TTS|ASR"), "a speech model"),
    (re.compile(r"^(?:Qwen2|Qwen3|Llama|Mistral|Gemma\w*|Bidirectional\w*)Model$|Embedding"), "an embedding model"),
    (re.compile(r"Diffusion|UNet|Flux|VisionModel$|ForObjectDetection$"), "an image model"),
)
"""Names of classes in `architectures`."""
KINDS: Final = {
    "an encoder": """albert bert big_bird camembert deberta deberta-v2 distilbert electra ernie eurobert gte modernbert
        mpnet neomme nomic_bert roberta xlm-roberta xlm-roberta-xl xlnet""",
    "an embedding model": "clip siglip siglip2 embedding_gemma2 colpali colqwen2 jina_embeddings_v3 new",
    "a speech model": """audio_spectrogram_transformer csm granite_speech higgs_audio_v2 hubert kyutai_speech_to_text
        moonshine parakeet qwen3_asr seamless_m4t speecht5 vibevoice vits wav2vec2 wav2vec2-bert wavlm
        whisper""",
    "an encoder-decoder model": "bart fsmt led m2m_100 marian mbart mt5 mvp pegasus t5 t5gemma t5gemma2 umt5 udop",
    "a model that writes blocks by diffusion": "diffusion_gemma dream llada llada2_moe sdar sdar_moe",
    "an image model": "beit deit detr dinov2 dinov3_vit segformer sam sam2 swin vit vit_mae vitdet yolos",
}
OTHER_FORMATS: Final = {
    "peft_type": "is a field of an adapter, not of a model",
    "n_layers": "is a field of another format, Mistral's params.json or a model's own code",
    "weight_map": "is a field of an index of weights, not of a model",
}
"""Fields of files without a `model_type` that stand beside a config.json, and what these are."""
WITHOUT_ATTENTION: Final = ("falcon_mamba", "mamba", "mamba2", "rwkv", "rwkv5", "rwkv6", "rwkv7", "xlstm")
"""Values of `model_type` of models that keep a state and no cache, which the catalog does not describe."""
ATTENTION_HINT: Final = "the catalog describes models of which some layers keep a cache; some others may keep a state"
BY_MODEL_TYPE: Final = {kind: what for what, kinds in KINDS.items() for kind in kinds.split()}
"""Values of `model_type`."""
HINT: Final = "only models that generate text token by token can be planned"


def refuse_other_uses(fields: Fields, whole: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Refuses embeddings, rerankers, encoders, speech and images by that name.

    Args:
        fields: Where the refusal goes.
        whole: The configuration with all its parts.
        names: What the model is called.
    """
    kind = str(whole.get("model_type") or "")
    stated = whole.get("architectures") or []
    if not isinstance(stated, list) or not all(isinstance(each, str) for each in stated):
        fields.refuse("architectures", "is not a list of names", "name the class of the model, or leave it out")
        return
    classes: list[str] = stated
    if kind in BY_MODEL_TYPE:
        fields.refuse("model_type", f"'{kind}' is {BY_MODEL_TYPE[kind]}, not a language model", HINT)
        return
    foreign = next((name for name in OTHER_FORMATS if not kind and whole.get(name) is not None), None)
    if foreign is not None:
        fields.refuse(foreign, OTHER_FORMATS[foreign], "give the config.json that Hugging Face transformers reads")
        return
    if kind in WITHOUT_ATTENTION:
        fields.refuse("model_type", f"no layer of '{kind}' has attention", ATTENTION_HINT)
        return
    for pattern, what in BY_ARCHITECTURE:
        found = next((each for each in classes if pattern.search(each)), None)
        if found is not None:
            fields.refuse("architectures", f"'{found}' is {what}, not a language model", HINT)
            return
    if whole.get("is_encoder_decoder") is True:
        fields.refuse("is_encoder_decoder", "is an encoder-decoder model, not a language model", HINT)
        return
    for pattern, what in BY_NAME:
        called = next((each for each in names if pattern.search(each)), None)
        if called is not None:
            fields.refuse("", f"'{called}' names {what}, not a language model", HINT)
            return
