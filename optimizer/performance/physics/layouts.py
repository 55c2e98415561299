"""Which layouts engines run: a model's heads over the GPUs of a stage, its layers over the stages."""

from optimizer.inputs.catalog.entries.models import Model
from optimizer.performance.physics.facts import is_latent


def misfit(model: Model, tensor_parallel: int, pipeline_parallel: int) -> str:
    """Why no engine runs a model in this layout, in one clause; empty where engines do.

    Every GPU of a stage holds as many attention heads as the others, and KV heads are divided evenly or copied evenly;
    engines record and tune their kernels for powers of two. A stage holds one layer at least.
    Source: vLLM 0.33, `ModelConfig.verify_with_parallel_config` and the attention layers of its models.
    """
    if tensor_parallel & (tensor_parallel - 1):
        return f"tensor parallel {tensor_parallel}: engines run powers of two (1, 2, 4, 8, …)"
    if model.attention_heads % tensor_parallel:
        return f"tensor parallel {tensor_parallel} does not divide the model's {model.attention_heads} attention heads"
    if not is_latent(model) and model.kv_heads % tensor_parallel and tensor_parallel % model.kv_heads:
        return f"tensor parallel {tensor_parallel} and the model's {model.kv_heads} KV heads do not divide evenly"
    if pipeline_parallel > model.layers:
        return f"pipeline parallel {pipeline_parallel}: the model has {model.layers} layers"
    return ""
