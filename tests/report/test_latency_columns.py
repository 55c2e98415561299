"""Latencies stand in a plan's table in the statistics that were promised."""

from collections.abc import Callable

from optimizer.plan.record.explanation import MeasuredRequirement
from optimizer.plan.record.report import PlanReport
from optimizer.report.plan.latency_columns import latency_columns
from optimizer.report.plan.running import deployments_in_short
from optimizer.report.plan.sections import deployments_section


def _promise(workload: str, latency: str) -> MeasuredRequirement:
    return MeasuredRequirement(
        requirement=f"workloads[{workload}].slo.{latency}", limit=1, value=1, slack=0, unit="ms", binding=True, text=""
    )


def test_the_statistic_that_is_promised_stands_in_the_heading(planned: Callable[[str], PlanReport]) -> None:
    report = planned("chat-8b")
    (d,) = report.deployments
    measured = [_promise("chat", "ttft_ms.p99"), _promise("chat", "tpot_ms.p95"), _promise("chat", "e2e_ms.p90")]
    columns = latency_columns(report.deployments, measured)
    assert {heading: cell(d) for heading, cell in columns.items()} == {
        ">TTFT p99": f"{d.ttft_bound_ms['p99']:,.0f} ms",
        ">TPOT p95": f"{d.tpot_bound_ms['p95']:.1f} ms",
        ">E2E p90": f"{max(item.e2e_bound_ms['p90'] for item in d.classes):,.0f} ms",
    }


def test_statistics_that_differ_stand_in_the_cells(planned: Callable[[str], PlanReport]) -> None:
    report = planned("two-models")
    first, second = {d.workload: d for d in report.deployments}.values()
    measured = [
        _promise(first.workload, "ttft_ms.p50"),
        _promise(first.workload, "ttft_ms.p99"),
        _promise(second.workload, "e2e_ms.p95"),
    ]
    columns = latency_columns(report.deployments, measured)
    assert list(columns) == [">TTFT", ">TPOT mean", ">E2E p95"]
    p50, p99 = first.ttft_bound_ms["p50"], first.ttft_bound_ms["p99"]
    assert columns[">TTFT"](first) == f"p50 {p50:,.0f}, p99 {p99:,.0f} ms"
    assert columns[">TTFT"](second) == f"p95 {second.ttft_bound_ms['p95']:,.0f} ms"
    assert columns[">E2E p95"](first) == ""


def test_rows_are_as_wide_as_their_headings_on_both_pages(planned: Callable[[str], PlanReport]) -> None:
    for name in ("chat-8b", "two-models", "api-at-night", "token-scores"):
        report = planned(name)
        full = deployments_section(
            report.deployments, report.confidence, report.hosted, (), report.explanation.requirements
        )
        for table in (deployments_in_short(report).table, full.table):
            assert table is not None
            assert {len(row) for row in table.rows} == {len(table.headings)}
