"""What was measured of a configuration's kind, and how much room the rest asks for.

The calibration catalog counts, by metric, the measured groups of every GPU, model, and of the pairs: architecture and
precision, architecture and engine, engine and kind of model, architecture and engine with dense or routed models. A
prediction is calibrated where a token's time was measured for its GPU and all pairs, and anything at all on that GPU by
an engine that serves alike, otherwise estimated; whatever was not measured asks for a wider interval, and so do
settings that are somebody else's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Final, Literal, NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Names
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.kinds import Link
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.catalog.records import Catalogs, known
from optimizer.inputs.metrics import METRICS
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import Calibration, calibration_of, group_name
from optimizer.performance.physics.eras import era_of
from optimizer.performance.physics.own import PLANNING_LOAD, SAME, DeploymentName, OwnRows, deployment_names
from optimizer.performance.physics.row_arrays import RowArrays
from optimizer.performance.physics.setup import HOST_LINKS, Configuration, categorical
from optimizer.performance.uncertainty.intervals import DRAFTED, UNSEEN, Column, half_width, planning_share

EVIDENCE: Final = "evidence"
DECISIVE: Final = ("gpu", "precision", "engine", "model_kind", "cell")
"""What must have been measured for a prediction to count as calibrated; a new model of a known kind still does."""

OF_KERNELS: Final = ("gpu", "model", "precision")
"""What a batch in an engine's own process tells of as well; how an engine serves is not seen in it."""

DECISIVE_METRIC: Final = "tpot"
"""Throughput at full load alone is no evidence for what a token takes."""

AUTHOR: Final = "author"
"""Names rows whose settings are somebody else's: router, cache, chunks and clocks that no prediction knows."""

ANY_ENGINE: Final = ""
"""Margins do not differ by engine: nearly all open arrivals were measured on one, and no data is no merit."""

HOST_LINK: Final = "host_link"
"""Names rows whose GPUs exchange every layer over PCIe."""

PIPELINE: Final = "pipeline"
"""Names measured pipeline stages among the evidence."""

RELEASE: Final = "release"
"""Names the releases of engines under which anything was measured on a GPU, among the evidence."""

OWN_DEPLOYMENT: Final = "measured on your own deployment"
PUBLIC: Final = "model fitted to public measurements"
PerformanceSource = Literal["measured", "calibrated", "estimated"]

PAIRED: Final = ("engine", "model", "gpu", "precision")
"""What decides how well a configuration's kind was measured."""
_DECISIVE_FIELDS: Final = (*PAIRED, "tensor_parallel", "link", "draft_tokens")
"""Configurations that agree in these have the same margins."""

Pairs = Mapping[str, tuple[Column, Column]]
Missing = Mapping[str, Mapping[str, Flags]]
"""What nobody measured of each row, by metric and kind of novelty."""


@dataclass(frozen=True)
class Margins(RowArrays):
    """Factors on predicted metrics so that reality stays on the good side with the chosen probability, all (n,)."""

    ttft: Floats
    tpot: Floats
    throughput: Floats

    @classmethod
    def same(cls, ttft: float = 1.0, tpot: float = 1.0, throughput: float = 1.0) -> "Margins":
        """One margin per metric for all rows, as arrays of one row that broadcast; none by default."""
        return cls(*(np.array([factor]) for factor in (ttft, tpot, throughput)))


def margins(catalogs: Catalogs, configurations: Sequence[Configuration], confidence: float) -> Margins:
    """factor = exp(planning share(confidence) · half-width): 1 at 0.5, monotone in confidence.

    The half-width is that of `PLANNING_LOAD`, wider for what was not measured; the share is the one-sided quantile of
    left-out errors. What own measurements tell of a configuration narrows its width; where they moved the prediction,
    the factor is one on what they moved it to.
    """
    calibration = calibration_of(catalogs)
    own = _own(catalogs, configurations)
    kinds = Categorical.joined(*categorical(configurations, _DECISIVE_FIELDS).values())
    # kind -> its fields, one column each
    fields = {name: [kind[at] for kind in kinds.categories] for at, name in enumerate(_DECISIVE_FIELDS)}
    missing = unseen(catalogs, named_pairs(catalogs, **{name: fields[name] for name in PAIRED}))
    degrees = np.array(fields["tensor_parallel"], dtype=np.float64)
    slow = host_linked(catalogs, fields["gpu"], degrees, fields["link"])
    missing = with_everywhere(missing, **{HOST_LINK: slow, DRAFTED: np.array(fields["draft_tokens"]) > 0})
    engines = [ANY_ENGINE] * len(degrees)

    def factor(metric: str) -> Floats:
        width = half_width(calibration, metric, [PLANNING_LOAD[metric]] * len(degrees), engines, missing[metric])
        share = planning_share(calibration, metric, confidence, missing[metric])
        if own is None:
            return kinds.by_row(np.exp(share * width))
        rows, names = own
        left = rows.widths(metric, [PLANNING_LOAD[metric]] * len(names.codes), names)
        return np.asarray(np.exp(kinds.by_row(share) * narrowed(calibration, metric, kinds.by_row(width), left)))

    return Margins(factor("ttft"), factor("tpot"), factor("throughput"))


def narrowed(calibration: Calibration, metric: str, width: Floats, left: Floats) -> Floats:
    """Half-widths of a deployment that runs as exported, (n,), once own measurements leave a share of them.

    What was measured had settings of its own, so the share is one of the width that knows none; no width grows.
    """
    author = calibration.lookup(UNSEEN, f"{metric}@{AUTHOR}")
    return np.minimum(width, left * np.hypot(width, author))


def _own(
    catalogs: Catalogs, configurations: Sequence[Configuration]
) -> tuple[OwnRows, Categorical[DeploymentName]] | None:
    """What was measured of one's own, and what each configuration is called there; None where nothing was."""
    rows = OwnRows.of(calibration_of(catalogs))
    return None if rows is None else (rows, deployment_names(catalogs, categorical(configurations, SAME)))


def own_measured(catalogs: Catalogs, configurations: Sequence[Configuration]) -> Flags:
    """Whether what a token takes was measured of each very configuration on hardware of one's own, (n,)."""
    own = _own(catalogs, configurations)
    return np.zeros(len(configurations), dtype=np.bool_) if own is None else own[0].measured(own[1])


def performance_of(catalogs: Catalogs, configuration: Configuration) -> tuple[PerformanceSource, str]:
    """What the prediction of a configuration rests on, and the same in words."""
    if own_measured(catalogs, [configuration])[0]:
        return "measured", OWN_DEPLOYMENT.removeprefix("measured ")
    missing = not_measured(catalogs, configuration)
    if missing:
        return "estimated", f"nobody measured {', '.join(missing)}"
    own = _own(catalogs, [configuration])
    moved = own is not None and own[0].factors("tpot", [PLANNING_LOAD["tpot"]], own[1])[0] != 1
    return "calibrated", f"{PUBLIC}, moved by your own of {configuration.engine} on that GPU" if moved else PUBLIC


def named_pairs(catalogs: Catalogs, engine: Column, model: Column, gpu: Column, precision: Column) -> Pairs:
    """What decides how well each row's kind was measured, by what would be unseen."""
    models = Categorical[str].of(model)
    known = [catalogs.model(name) for name in models.categories]
    architecture, routed = traits_of(catalogs, model, gpu)
    return {
        "gpu": (["gpu"] * len(gpu), gpu),
        "model": (["model"] * len(model), models.by_row([found.id for found in known], object)),
        "precision": (architecture, precision),
        "engine": (architecture, engine),
        "model_kind": (engine, models.by_row([kind_of(found) for found in known], object)),
        "cell": (architecture, [" ".join(pair) for pair in zip(engine, routed, strict=True)]),
    }


def traits_of(catalogs: Catalogs, model: Column, gpu: Column) -> tuple[Names, Names]:
    """What else makes predictions more or less certain: architecture, and dense or routed models, (n,) each."""
    gpus, models = Categorical[str].of(gpu), Categorical[str].of(model)
    routed = ["moe" if catalogs.model(name).moe_experts else "dense" for name in models.categories]
    architecture = [catalogs.gpus[name].architecture for name in gpus.categories]
    return gpus.by_row(architecture, object), models.by_row(routed, object)


def unseen(catalogs: Catalogs, pairs: Pairs) -> Missing:
    """Whether nobody measured each row's GPU, model or pair, (n,), by metric and kind.

    Any engine tells what a token takes on a GPU, once one that serves as the row's does was measured there at all.
    """
    calibration = calibration_of(catalogs)
    seen = frozenset(calibration.members(EVIDENCE))
    missing = {metric: unseen_among(seen, metric, pairs) for metric in METRICS}
    run = {(gpu, _serving(catalogs, era)) for gpu, era in _run(calibration)}
    cards = Categorical.of(list(zip(pairs["gpu"][1], pairs["model_kind"][0], strict=True)))
    missing[DECISIVE_METRIC]["gpu"] |= cards.passing(lambda card: (card[0], _serving(catalogs, card[1])) not in run)
    return missing


def unseen_among(seen: frozenset[str], metric: str, pairs: Pairs) -> dict[str, Flags]:
    """As `unseen` of one metric, with the measured names given."""
    named = {kind: Categorical.of(list(zip(*columns, strict=True))) for kind, columns in pairs.items()}
    return {kind: ~pair.passing(lambda pair: group_name((metric, *pair)) in seen) for kind, pair in named.items()}


def with_everywhere(missing: Missing, **flags: Flags) -> Missing:
    """The same with what is the same for every metric."""
    return {metric: {**kinds, **flags} for metric, kinds in missing.items()}


def estimated(missing: Missing) -> Flags:
    """Whether something decisive about each row was never measured, (n,)."""
    rows: Flags = np.logical_or.reduce([missing[DECISIVE_METRIC][kind] for kind in DECISIVE])
    return rows


def pipeline_measured(catalogs: Catalogs, configurations: Sequence[Configuration]) -> Flags:
    """Whether pipeline stages were measured with each row's engine, on its architecture, for its kind of model, (n,).

    Rows with a single stage count as measured.
    """
    kinds = Categorical.joined(*categorical(configurations, ("engine", "model", "gpu")).values())
    engine, model, gpu = ([kind[at] for kind in kinds.categories] for at in range(3))
    seen = calibration_of(catalogs).members(EVIDENCE)
    several = np.array([each.pipeline_parallel > 1 for each in configurations], dtype=np.bool_)
    found: Flags = ~several | kinds.by_row([name in seen for name in pipelines(catalogs, engine, model, gpu)], np.bool_)
    return found | own_measured(catalogs, configurations)


def pipelines(catalogs: Catalogs, engine: Column, model: Column, gpu: Column) -> list[str]:
    """What pipeline stages of each row are called among the evidence: engine, architecture and kind of model."""
    return [
        group_name((PIPELINE, e, catalogs.gpus[g].architecture, kind_of(catalogs.model(m))))
        for e, m, g in zip(engine, model, gpu, strict=True)
    ]


def unmeasured(catalogs: Catalogs, configurations: Sequence[Configuration]) -> Flags:
    """Whether something decisive about each configuration was never measured, (n,), drafts aside: see `drafting`."""
    kinds = Categorical.joined(*categorical(configurations, PAIRED).values())
    pairs = named_pairs(catalogs, *([kind[at] for kind in kinds.categories] for at in range(len(PAIRED))))
    never: Flags = kinds.by_row(estimated(unseen(catalogs, pairs)), np.bool_)
    # what was measured of one's own counts as measured stages, too
    return ~pipeline_measured(catalogs, configurations) | never & ~own_measured(catalogs, configurations)


def drafting(configurations: Sequence[Configuration]) -> Flags:
    """Whether each configuration verifies a draft, which nothing does that constants come from, (n,).

    Whoever names the drafts of a model accepts an estimate of what they do, unless all estimates are rejected.
    """
    return np.array([each.draft_tokens > 0 for each in configurations], dtype=np.bool_)


def not_measured(catalogs: Catalogs, configuration: Configuration) -> list[str]:
    """What nobody measured of one configuration, in words."""
    if own_measured(catalogs, [configuration])[0]:
        return []
    pairs = named_pairs(catalogs, **{name: [getattr(configuration, name)] for name in PAIRED})
    missing = unseen(catalogs, pairs)[DECISIVE_METRIC]
    unknown = [kind for kind in pairs if kind in DECISIVE and missing[kind][0]]
    # where the engine or the GPU is new, so is every combination with it
    told = [kind for kind in unknown if kind != "cell" or unknown == ["cell"]]
    columns = {kind: (left[0], right[0]) for kind, (left, right) in pairs.items()}
    found = [_card(catalogs, configuration) if kind == "gpu" else "{1} on {0}".format(*columns[kind]) for kind in told]
    if configuration.draft_tokens:
        found.append(f"drafts ({configuration.speculation}) but of one model on one GPU")
    if not pipeline_measured(catalogs, [configuration])[0]:
        found.append(f"pipeline stages with {configuration.engine} on {catalogs.gpus[configuration.gpu].architecture}")
    return found


def _card(catalogs: Catalogs, configuration: Configuration) -> str:
    """A GPU on which nobody timed a token, or nobody ran an engine that serves as the configuration's does."""
    gpu, seen = configuration.gpu, calibration_of(catalogs).members(EVIDENCE)
    serving = known(catalogs.engines, configuration.engine, "engine").serving
    otherwise = group_name((DECISIVE_METRIC, "gpu", gpu)) in seen
    return f"{gpu} with {serving.replace('_', ' ')}" if otherwise else gpu


class Setups(NamedTuple):
    """In how many published setups anything was measured on a GPU.

    Attributes:
        alike: With engines that serve as the one in question does, whatever the model and precision.
        of_release: With releases of that engine that behave as the one that plans assume.
    """

    alike: int
    of_release: int


def setups_measured(catalogs: Catalogs, gpu: str, engine: str) -> Setups:
    """What is known of a GPU under an engine."""
    calibration = calibration_of(catalogs)
    of_gpu = {era: count for (name, era), count in _run(calibration).items() if name == gpu}
    serving = known(catalogs.engines, engine, "engine").serving
    alike = sum(count for era, count in of_gpu.items() if _serving(catalogs, era) == serving)
    return Setups(int(alike), int(of_gpu.get(era_of(calibration, engine, ""), 0)))


def _run(calibration: Calibration) -> dict[tuple[str, str], float]:
    """In how many groups anything was measured, by GPU and era of the engine."""
    of_releases = group_name((RELEASE, ""))
    named = {
        name.removeprefix(of_releases): count
        for name, count in calibration.members(EVIDENCE).items()
        if name.startswith(of_releases)
    }
    return {(gpu, era): count for name, count in named.items() for gpu, _, era in (name.partition("@"),)}


def _serving(catalogs: Catalogs, era: str) -> str | None:
    """How the engine of an era serves; None where no catalog holds it any more."""
    engine = catalogs.engines.get(era.partition(":")[0])
    return None if engine is None else engine.serving


def releases(calibration: Calibration, gpu: Column, engine: Column, version: Column) -> list[str]:
    """What the releases of each row's engine that behave alike, on its GPU, are called among the evidence."""
    kinds = Categorical.of(list(zip(gpu, engine, version, strict=True)))
    return list(
        kinds.by_row([group_name((RELEASE, g, era_of(calibration, e, v))) for g, e, v in kinds.categories], object)
    )


def measured_groups(metric: str, pairs: Pairs, group: Sequence[str], served: Flags) -> dict[str, int]:
    """How many groups that tell of a metric hold each GPU, model and pair, by name: the catalog's `evidence`.

    Rows that no server served, (n,), tell what kernels take (`OF_KERNELS`), and nothing of an engine.
    """
    held = {
        (group_name((metric, left, twin)), member)
        for kind, (lefts, rights) in pairs.items()
        for left, right, member in set(compress(zip(lefts, rights, group, strict=True), served | (kind in OF_KERNELS)))
        for twin in (SIXTEEN_BIT if right in SIXTEEN_BIT else (right,))
    }
    return dict(sorted(Counter(name for name, _ in held).items()))


def host_linked(catalogs: Catalogs, gpu: Column, tensor_parallel: Floats, link: Sequence[Link | None] = ()) -> Flags:
    """Whether a replica's GPUs exchange every layer over PCIe, where boards differ by a factor of ten, (n,)."""
    links = Categorical.of(list(zip(gpu, link or [None] * len(gpu), strict=True)))
    return links.passing(lambda pair: (pair[1] or catalogs.gpus[pair[0]].link) in HOST_LINKS) & (tensor_parallel > 1)


def kind_of(model: Model) -> str:
    """Family of similar architectures: dense or moe, with latent, sparse, compressed or hybrid attention.

    An indexer over latent tokens counts as latent: what was measured of latent attention holds models with and without.
    """
    parts = ["moe" if model.moe_experts else "dense"]
    latent, sparse = model.kv_lora_rank is not None, model.sparse_attention_tokens is not None
    parts += ["mla"] if latent else []
    parts += ["sparse"] if sparse and not latent else []
    parts += ["compressed"] if sparse and model.sliding_window_tokens is not None else []
    parts += ["hybrid"] if model.linear_state_bytes_per_sequence else []
    return "-".join(parts)
