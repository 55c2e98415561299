"""A prediction in words and a table."""

from typing import Final

from optimizer.answers.accuracy.predicted import Prediction, Setting
from optimizer.base.figures import exactly, figure
from optimizer.performance.uncertainty.evidence import OWN_DEPLOYMENT
from optimizer.report.layout.elements import Section, Table, WrittenAnswer
from optimizer.report.layout.text import section_text

OWN: Final = "Measured: on your own deployment of this very configuration; predicted at this load from there."
SOURCES: Final = {
    "measured": "Measured: this very configuration is in the public measurements.",
    "calibrated": "Calibrated: the model was fitted to measurements of this GPU generation, precision and engine.",
    "estimated": "Estimated: nobody measured this combination of GPU generation, precision, engine, stages and draft.",
}
"""What each source of a prediction means."""

WIDTHS: Final = (
    "90 % of measurements lie within: of a deployment that runs with the settings assumed here, and of somebody's, "
    "whose settings nobody knows."
)


def prediction_text(prediction: Prediction) -> str:
    """The prediction for a terminal, the question in the first line, however long."""
    return f"{_question(prediction.setting)}\n\n{section_text(_delivered(prediction))}\n"


def prediction_answer(prediction: Prediction) -> WrittenAnswer:
    """The question as its title, and what is delivered."""
    return WrittenAnswer((_delivered(prediction),), title=_question(prediction.setting))


def prediction_sentence(prediction: Prediction) -> str:
    """The means in a sentence."""
    means = (
        ("time to first token", prediction.ttft),
        ("time per output token", prediction.tpot),
        ("output", prediction.output_throughput),
    )
    told = ", ".join(f"{what} {figure(interval.predicted)} {interval.unit}" for what, interval in means)
    return f"{_question(prediction.setting)}: {told}."


def _delivered(prediction: Prediction) -> Section:
    """What is delivered, with the interval of each figure, and what the figures rest on."""
    rows = tuple(
        (
            what,
            figure(interval.predicted),
            f"{figure(interval.deployed_low)}–{figure(interval.deployed_high)}",
            f"{figure(interval.low)}–{figure(interval.high)}",
            interval.unit,
        )
        for what, interval in (
            ("time to first token, mean", prediction.ttft),
            ("time to first token, p95", prediction.ttft_p95),
            ("time per output token, mean", prediction.tpot),
            ("time per output token, p95", prediction.tpot_p95),
            ("output tokens", prediction.output_throughput),
            ("requests", prediction.request_throughput),
        )
    )
    rests_on = OWN if OWN_DEPLOYMENT in prediction.note else SOURCES[prediction.source]
    notes = (f"Note: {prediction.note}" if prediction.note else "", rests_on, WIDTHS)
    return Section("It delivers", notes, Table(("", ">predicted", ">as deployed", ">somebody's", "unit"), rows))


def _question(setting: Setting) -> str:
    gpus = setting.tensor_parallel * setting.pipeline_parallel
    layout = f"tensor parallel {setting.tensor_parallel}" if gpus > 1 else ""
    layout += f", pipeline parallel {setting.pipeline_parallel}" if setting.pipeline_parallel > 1 else ""
    engine = f"{setting.engine} {setting.engine_version}".strip()
    kv = f"KV {setting.kv_precision}" if setting.kv_precision else ""
    drafts = f"speculation {setting.speculation}" if setting.speculation else ""
    where = ", ".join(part for part in (f"{gpus}× {setting.gpu}", layout, engine, kv, drafts) if part)
    load = "in flight" if setting.load_type == "concurrency" else "requests/s"
    tokens = f"{setting.input_tokens:,} tokens in, {setting.output_tokens:,} out"
    return f"{setting.model} {setting.precision} on {where}; {tokens}, {exactly(setting.load_value)} {load}"
