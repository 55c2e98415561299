"""Mechanisms taken out of the performance model one at a time, by holding their constants at a value without effect."""

from collections.abc import Mapping, Sequence

from optimizer.inputs.catalog.records import CalibrationEntry

NEVER, PLAIN, ALWAYS = 0.0, 1.0, 1e6

NEUTRAL: Mapping[str, Mapping[str, float]] = {
    "engine time per step, layer and sequence": dict.fromkeys(
        (
            "step_overhead_s",
            "layer_overhead_s",
            "sequence_overhead_s",
            "expert_layer_overhead_s",
            "expert_layer_floor_s",
            "latent_layer_overhead_s",
            "qk_norm_s",
        ),
        NEVER,
    ),
    "smooth roofline, narrow experts slower": {"roofline_norm": 50.0, "expert_width_exponent": NEVER},
    "TTFT beside the prefill: per request, launches, waited steps": dict.fromkeys(
        (
            "request_overhead_s",
            "launch_floor_s",
            "expert_launch_floor_s",
            "latent_launch_floor_s",
            "waited_steps_closed",
            "waited_steps_open",
        ),
        NEVER,
    ),
    "queue for the prefill": dict.fromkeys(
        ("prefill_queue_factor", "prefill_wave_mean_share", "prefill_wave_median_share"), NEVER
    ),
    "experts multiplied better or worse by engine and release": {"expert_kernel_factor": PLAIN},
    "experts multiplied better or worse by format": {"expert_format_compute_factor": PLAIN},
    "least time of an expert layer by format and GPU": {"expert_layer_floor_s": NEVER},
    "fewer kernels where experts stand alone": {"mlp_launch_share": NEVER},
    "only the touched experts are read": {"expert_touch_factor": ALWAYS},
    "kernels around a product by format": dict.fromkeys(("layer_format_factor", "expert_format_factor"), PLAIN),
    "what passes through memory between products": {"elementwise_traffic": NEVER},
    "latency of the links": dict.fromkeys(("link_latency_s", "rank_skew_s"), NEVER),
    "small messages sent to all at once": {"link_start_s": NEVER},
}
"""Parameters and the value at which each has no effect; held there, not fitted."""

NO_ERAS = "eras of engine versions"
NO_POOLING = "shrinkage to priors and broader groups"
NO_GENERATIONS = "efficiencies by GPU generation"
NOTHING = "nothing removed"
ABLATIONS = (NOTHING, *NEUTRAL, NO_ERAS, NO_GENERATIONS, NO_POOLING)
LOOSE = 10.0
"""Spreads times this leave the fit practically free."""

GENERATION_EFFICIENCIES = ("bandwidth_efficiency", "compute_efficiency")


def without(entries: Sequence[CalibrationEntry], name: str) -> tuple[CalibrationEntry, ...]:
    """The calibration without one mechanism."""
    if name == NO_ERAS:
        return _one_era(entries)
    if name == NO_GENERATIONS:
        return tuple(each for each in entries if each.parameter not in GENERATION_EFFICIENCIES or not each.group)
    if name == NO_POOLING:
        return tuple(_scaled(each) if each.parameter == "spread" else each for each in entries)
    held = NEUTRAL.get(name, {})
    return tuple(_held(each, held[each.parameter]) if each.parameter in held else each for each in entries)


def _held(entry: CalibrationEntry, value: float) -> CalibrationEntry:
    return entry.model_copy(update={"value": value, "prior": None, "method": "definition"})


def _scaled(entry: CalibrationEntry) -> CalibrationEntry:
    return entry.model_copy(update={"value": entry.value * LOOSE})


def _one_era(entries: Sequence[CalibrationEntry]) -> tuple[CalibrationEntry, ...]:
    """Every version of an engine behaves like its newest era."""
    eras = [each for each in entries if each.parameter == "era_first_version"]
    newest = {each.group.split(":")[0]: each for each in sorted(eras, key=lambda each: each.value)}
    others = [each for each in entries if each.parameter != "era_first_version"]
    return (*others, *(_held(each, NEVER) for _, each in sorted(newest.items())))
