"""What counts and buckets bound holds the truth, whatever the values behind them were."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.expositions import TOKENS

from optimizer import InputError, load_catalogs
from optimizer.answers.running.watch.bounds import (
    Z,
    mean_between,
    percentile_between,
    rate_between,
    share_between,
    within_between,
)
from optimizer.answers.running.watch.exposition import Scrape, read_exposition
from optimizer.answers.running.watch.scrapes import Observed
from optimizer.answers.running.watch.window import Histogram, Window
from optimizer.base.arrays import Floats

EDGES = np.array([1.0, 2.0, 5.0, 10.0, 50.0, math.inf])
VALUES = st.lists(st.floats(0.0, 400.0), min_size=40, max_size=120).map(np.array)


def behind(values: Floats, edges: Floats = EDGES) -> Histogram:
    """The histogram of some values; one that is an edge lies in the bucket that ends there."""
    cumulated = np.array([np.sum(values <= edge) for edge in edges], dtype=np.float64)
    return Histogram(edges, np.diff(cumulated, prepend=0.0), float(np.sum(values)))


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


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("cv2", [0.01, 0.5, 1.0])
def test_a_share_of_tokens_misses_the_truth_to_either_side_no_more_than_promised(share: float, cv2: float) -> None:
    """Prompts have all their tokens in the cache or none, and some prompts are far longer than others."""
    rng, edges = np.random.default_rng(1), np.array([*TOKENS, math.inf])
    missed = {"below": 0, "above": 0}
    for _ in range(600):
        lengths = 1 + rng.gamma(1 / cv2, 300 * cv2, 800)
        cached = rng.random(800) < share
        found = share_between(float(np.sum(lengths[cached]) / np.sum(lengths)), behind(lengths, edges))
        assert found is not None
        missed["below"] += share < found.low
        missed["above"] += found.high < share
    # 5 % of 600, and what chance adds
    assert max(missed.values()) <= 42


def test_no_prompt_or_every_prompt_in_the_cache_still_leaves_an_interval() -> None:
    none, all_of_them = (share_between(share, behind(np.full(400, 5.0))) for share in (0.0, 1.0))
    assert none is not None
    assert all_of_them is not None
    assert (none.low, all_of_them.high) == pytest.approx((0.0, 1.0))
    assert none.high == pytest.approx(1 - all_of_them.low)
    assert none.high > 0.005


def test_few_prompts_or_a_few_long_ones_or_no_lengths_bound_no_share() -> None:
    assert share_between(0.5, behind(np.full(39, 5.0))) is None
    assert share_between(0.5, behind(np.array([1.0] * 100 + [5000.0] * 5))) is None
    assert share_between(0.5, Histogram(EDGES, np.full(6, 100.0), math.nan)) is None


def test_labels_escapes_time_stamps_and_what_is_no_number_are_read() -> None:
    text = '# TYPE a counter\na{x="1,2}",y="say \\"so\\" \\\\ \\n"} 3 1700000000500\nb NaN\nc{} +Inf\nd  7e2\n'
    found = read_exposition(text, "f")
    assert found.samples["a"] == {(("x", "1,2}"), ("y", 'say "so" \\ \n')): 3.0}
    assert (found.samples["b"], found.samples["c"], found.samples["d"]) == ({}, {}, {(): 700.0})
    assert found.at_s == 1700000000.5


def test_a_label_may_hold_what_other_texts_break_lines_at() -> None:
    found = read_exposition('a{x="one\u2028two\x0cthree"} 3\r\n', "f")
    assert found.samples == {"a": {(("x", "one\u2028two\x0cthree"),): 3.0}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a 1\n<html>\n", "f:2: not a sample"),
        ("a{x=1} 1\n", "f:1: labels are not"),
        ("a one\n", "'one' is no number"),
        ("a 1_000\n", "'1_000' is no number"),
        ("a \u0663\n", "'\u0663' is no number"),
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
        ('h_bucket{le="1_0"} 3\nh_bucket{le="+Inf"} 3\n', 'le="1_0" is no bucket'),
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


def test_a_replica_that_came_in_between_does_not_bring_its_past() -> None:
    """The first replica says a label for the first time, which is new; the second was not there."""

    def text(engine: str, reason: str, count: int) -> str:
        labels = f'engine="{engine}",reason="{reason}"'
        return (
            f'c{{{labels}}} {count}\nh_bucket{{{labels},le="1"}} {count}\n'
            f'h_bucket{{{labels},le="+Inf"}} {count}\nh_sum{{{labels}}} {count}\n'
        )

    before = text("0", "stop", 40)
    both = window(text("0", "stop", 50) + text("0", "length", 3) + text("1", "stop", 900), before)
    found = both.histogram("h")
    assert found is not None
    assert (both.counted("c"), found.count, found.total) == (13.0, 13, 13.0)
    assert len(both.newcomers("c")) == 1
    assert "1 replicas told of themselves first and 2 last" in both.changed("c")
    other = window(text("1", "stop", 900), before)
    assert (other.counted("c"), other.histogram("h")) == (None, None)
    alone = window(text("1", "stop", 900))
    assert (alone.counted("c"), alone.newcomers("c")) == (900.0, set())


def test_every_name_of_a_metric_is_of_a_release_that_plans_assume() -> None:
    catalogs = load_catalogs()
    for row in catalogs.deploying.metrics:
        assert row.version == catalogs.engines[row.engine].newest_version
        assert row.quantity == "replica_label" or row.metric.startswith(f"{row.engine}:")
