"""What models of one size keep in a format was counted rightly from what was published, and is read at its low end."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from optimizer.inputs.catalog.quality import TRUSTED_KINDS, quality_share, quality_spread
from optimizer.inputs.catalog.records import Catalogs, QualityFigure


def test_the_worst_benchmark_is_that_of_any_recipe_of_models_of_its_size(catalogs: Catalogs) -> None:
    """In NVFP4 plain rounding keeps least on the mean, 0.938 and 0.851 of one benchmark; calibrated ones kept 0.664."""
    assumed = quality_share(catalogs, "gemma-2-9b", "fp4", by_family=True)
    assert assumed is not None
    assert (assumed.share, assumed.worst_share) == (0.938, 0.664)


def test_recipes_tried_on_the_same_two_models_are_no_four(catalogs: Catalogs) -> None:
    two = tuple(
        spread.model_copy(update={"models": 2}) for spread in catalogs.quality_spreads if spread.scheme == "mxfp4"
    )
    assert quality_spread(replace(catalogs, quality_spreads=two), "gemma-4-31b", "mxfp4") is None


def test_spreads_of_a_format_are_what_its_published_recoveries_give(catalogs: Catalogs) -> None:
    """One evaluation for each model, source, recipe and tool: the mean of its suites, else of its single benchmarks."""
    counted = [spread for spread in catalogs.quality_spreads if not spread.recipe]
    assert len(counted) > 15
    for spread in counted:
        evaluations = defaultdict[tuple[str, ...], list[QualityFigure]](list)
        for row in catalogs.quality:
            params_b = catalogs.model(row.model).total_params_b
            if row.benchmark_kind in TRUSTED_KINDS and spread.speaks_for(row.scheme, params_b):
                evaluations[row.model, row.source, row.recipe, row.tool].append(row)
        means = []
        for rows in evaluations.values():
            suites = [row.recovery_share for row in rows if row.benchmark_kind == "suite"]
            means.append(float(np.mean(suites or [row.recovery_share for row in rows])))
        assert (spread.evaluations, spread.models) == (len(means), len({model for model, *_ in evaluations})), spread
        stated = (spread.least_share, spread.tenth_percentile_share, spread.median_share, spread.most_share)
        assert stated == pytest.approx(np.quantile(means, (0, 0.1, 0.5, 1)), abs=0.00051), spread
        one_by_one = [row.worst_recovery_share for rows in evaluations.values() for row in rows]
        worst = min((share for share in one_by_one if share is not None), default=None)
        assert spread.worst_benchmark_share == (None if worst is None else pytest.approx(worst, abs=0.00051)), spread
