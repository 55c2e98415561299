"""What counts and buckets bound holds the truth, whatever the values behind them were."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer import InputError, load_catalogs
from optimizer.answers.watch.bounds import (
    Z,
    mean_between,
    percentile_between,
    rate_between,
    share_between,
    within_between,
)
from optimizer.answers.watch.exposition import Scrape, read_exposition
from optimizer.answers.watch.scrapes import Observed
from optimizer.answers.watch.window import Histogram, Window
from optimizer.base.arrays import Floats

EDGES = np.array([1.0, 2.0, 5.0, 10.0, 50.0, math.inf])
VALUES = st.lists(st.floats(0.0, 400.0), min_size=40, max_size=120).map(np.array)


def behind(values: Floats) -> Histogram:
    """The histogram of some values; one that is an edge lies in the bucket that ends there."""
    cumulated = np.array([np.sum(values <= edge) for edge in EDGES], dtype=np.float64)
    return Histogram(EDGES, np.diff(cumulated, prepend=0.0), float(np.sum(values)))


@given(VALUES)
def test_a_mean_is_exact_and_its_error_is_never_less_than_that_of_the_values(values: Floats) -> None:
    found = mean_between(behind(values))
    assert found is not None
    assert found.value == pytest.approx(np.mean(values))
    error = Z * float(np.std(values)) / math.sqrt(len(values))
    assert found.high - found.value >= error * (1 - 1e-6) - 1e-9
    assert found.low <= max(np.mean(values) - error, 0.0) + 1e-6


def test_an_error_is_as_small_as_the_buckets_allow() -> None:
    """All values are alike at 4.9: at the widest they lie at 2 and at 5, so that one in thirty is at 2."""
    found = mean_between(behind(np.full(400, 4.9)))
    assert found is not None
    assert found.high - found.value == pytest.approx(Z * math.sqrt((4.9 - 2) * (5 - 4.9) / 400))


def test_too_few_values_or_no_sum_bound_no_mean() -> None:
    assert mean_between(behind(np.full(39, 3.0))) is None
    assert mean_between(behind(np.full(400, 3.0)), together=20.0) is None
    assert mean_between(Histogram(EDGES, np.full(6, 100.0), math.nan)) is None


@given(VALUES, st.floats(0.5, 450.0), st.sampled_from([0.5, 0.95, 0.99]))
def test_buckets_bound_how_many_are_within_and_where_a_percentile_lies(
    values: Floats, limit: float, share: float
) -> None:
    at_least, at_most = within_between(behind(values), limit)
    assert at_least <= np.sum(values <= limit) <= at_most
    low, high = percentile_between(behind(values), share)
    assert low <= np.quantile(values, share, method="inverted_cdf") <= high


def test_a_limit_that_is_an_edge_leaves_none_open() -> None:
    assert within_between(behind(np.array([1.0, 3.0, 5.0, 6.0])), 5.0) == (3, 3)
    assert within_between(behind(np.array([1.0, 3.0, 5.0, 6.0])), 5.1) == (3, 4)
    assert within_between(behind(np.array([1.0, 70.0])), 60.0) == (1, 2)


def test_a_rate_holds_the_truth_nine_times_in_ten_and_bursts_widen_it() -> None:
    drawn = np.random.default_rng(1).poisson(30.0, 2000)
    held = [found.low <= 3.0 <= found.high for found in (rate_between(float(count), 1.0, 10.0) for count in drawn)]
    assert 0.88 <= np.mean(held) <= 0.93
    assert rate_between(300, 4.0, 100).high > rate_between(300, 1.0, 100).high
    assert rate_between(0, 1.0, 100).low == 0.0


def test_a_share_of_tokens_is_bounded_as_if_each_request_had_all_or_none() -> None:
    found = share_between(0.5, 400)
    assert found is not None
    assert found.high - found.value == pytest.approx(Z * 0.5 / 20)
    assert share_between(0.5, 39) is None


def test_labels_escapes_time_stamps_and_what_is_no_number_are_read() -> None:
    text = '# TYPE a counter\na{x="1,2}",y="say \\"so\\" \\\\ \\n"} 3 1700000000500\nb NaN\nc{} +Inf\nd  7e2\n'
    found = read_exposition(text, "f")
    assert found.samples["a"] == {(("x", "1,2}"), ("y", 'say "so" \\ \n')): 3.0}
    assert (found.samples["b"], found.samples["c"], found.samples["d"]) == ({}, {}, {(): 700.0})
    assert found.at_s == 1700000000.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a 1\n<html>\n", "f:2: not a sample"),
        ("a{x=1} 1\n", "f:1: labels are not"),
        ("a one\n", "'one' is no number"),
        ('a{x="1"} 1\na{x="1"} 2\n', "f:2: a a second time with the same labels"),
        ("# nothing\n", "no metrics in it"),
        ("", "no metrics in it"),
    ],
)
def test_what_is_no_exposition_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_exposition(text, "f")
    assert said in str(refused.value)


def window(later: str, earlier: str | None = None) -> Window:
    def at(text: str) -> dict[str, Scrape]:
        return {"": read_exposition(text, "f")}

    return Window(Observed(at(later), at(earlier) if earlier else None, 10.0), "engine")


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ('h_bucket{le="1"} 3\nh_sum 2\n', 'no bucket le="+Inf"'),
        ('h_bucket{le="1"} 3\nh_bucket{le="+Inf"} 2\n', "its buckets count down"),
        ('h_bucket{le="x"} 3\n', 'le="x" is no bucket'),
        (
            'h_bucket{a="1",le="1"} 3\nh_bucket{a="1",le="+Inf"} 3\n'
            'h_bucket{a="2",le="2"} 3\nh_bucket{a="2",le="+Inf"} 3\n',
            "its buckets differ between servers",
        ),
    ],
)
def test_a_histogram_that_is_none_is_refused(later: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        window(later).histogram("h")
    assert said in str(refused.value)


def test_what_fell_began_again_at_zero_bucket_by_bucket() -> None:
    def text(low: int, high: int, total: float) -> str:
        return f'h_bucket{{le="1"}} {low}\nh_bucket{{le="+Inf"}} {low + high}\nh_sum {total}\nc {low + high}\n'

    went_on = window(text(7, 5, 30.0), text(4, 2, 10.0)).histogram("h")
    assert went_on is not None
    assert (list(went_on.counts), went_on.total) == ([3.0, 3.0], 20.0)
    again = window(text(5, 1, 8.0), text(4, 2, 10.0))
    began = again.histogram("h")
    assert began is not None
    assert (list(began.counts), began.total) == ([5.0, 1.0], 8.0)
    fell = window("c 3\n", "c 9\n")
    assert fell.counted("c") == 3.0
    assert "started again" in fell.changed("c")


def test_every_name_of_a_metric_is_of_a_release_that_plans_assume() -> None:
    catalogs = load_catalogs()
    for row in catalogs.deploying.metrics:
        assert row.version == catalogs.engines[row.engine].newest_version
        assert row.quantity == "replica_label" or row.metric.startswith(f"{row.engine}:")
