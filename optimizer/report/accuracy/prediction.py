"""A prediction in words and a table."""

from optimizer.answers.accuracy.prediction import Interval, Prediction, Setting
from optimizer.report.layout.elements import Section, Table
from optimizer.report.layout.markdown import section_markdown, table_markdown
from optimizer.report.layout.text import section_text

SOURCES = {
    "measured": "measured: this very configuration is in the public measurements",
    "calibrated": "calibrated: the model was fitted to measurements of this GPU generation, precision and engine",
    "estimated": "estimated: nobody measured this combination of GPU generation, precision and engine",
}
"""What each source of a prediction means."""


def prediction_text(prediction: Prediction) -> str:
    """The prediction for a terminal, the question in the first line."""
    return f"{_asked(prediction.setting)}\n\n{section_text(prediction_section(prediction))}\n"


def prediction_markdown(prediction: Prediction) -> str:
    """The prediction as Markdown."""
    section = prediction_section(prediction)
    parts = [f"# {_asked(prediction.setting)}", section_markdown(Section(section.title, section.lines))]
    parts += [table_markdown(section.table)] if section.table else []
    return "\n\n".join(parts) + "\n"


def prediction_section(prediction: Prediction) -> Section:
    """What is delivered, with the interval of each figure, and what the figures rest on."""
    named = (
        ("time to first token, mean", prediction.ttft),
        ("time per output token, mean", prediction.tpot),
        ("output tokens", prediction.output_throughput),
        ("requests", prediction.request_throughput),
    )
    rows = tuple(_row(name, interval) for name, interval in named)
    table = Table(("", ">predicted", ">90 % low", ">90 % high", "unit"), rows)
    notes = (f"Assumed: {prediction.note}",) if prediction.note else ()
    return Section("It delivers", (_sentence(SOURCES[prediction.source]), *notes), table)


def _asked(setting: Setting) -> str:
    gpus = setting.tensor_parallel * setting.pipeline_parallel
    layout = f"tensor parallel {setting.tensor_parallel}" if gpus > 1 else ""
    layout += f", pipeline parallel {setting.pipeline_parallel}" if setting.pipeline_parallel > 1 else ""
    engine = f"{setting.engine} {setting.engine_version}".strip()
    kv = f"KV {setting.kv_precision}" if setting.kv_precision else ""
    where = ", ".join(part for part in (f"{gpus}× {setting.gpu}", layout, engine, kv) if part)
    load = "in flight" if setting.load_type == "concurrency" else "requests/s"
    tokens = f"{setting.input_tokens:,} tokens in, {setting.output_tokens:,} out"
    return f"{setting.model} {setting.precision} on {where}; {tokens}, {setting.load_value:g} {load}"


def _row(name: str, interval: Interval) -> tuple[str, ...]:
    return (name, figure(interval.predicted), figure(interval.low), figure(interval.high), interval.unit)


def figure(value: float) -> str:
    """Three significant digits, and never fewer than the units."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
