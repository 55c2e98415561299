"""A plan's bill in the columns of FOCUS 1.2: what the specification demands of a row holds; the rows are the month."""

import csv
import io
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from support.command import Command

from optimizer import as_json
from optimizer.answers.bill import BillLine
from optimizer.answers.running.export.export import export_plan
from optimizer.answers.running.export.record import Export, PlannedBill
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.report import PlanReport
from optimizer.report.focus import COLUMNS, focus_csv

Planned = Callable[[str], PlanReport]
Rows = list[dict[str, str]]

NEVER_NULL = {
    *("BilledCost", "BillingAccountId", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory"),
    *("ChargePeriodEnd", "ChargePeriodStart", "ContractedCost", "EffectiveCost", "InvoiceIssuerName", "ListCost"),
    *("ProviderName", "PublisherName", "ServiceCategory", "ServiceName", "BillingAccountType", "ChargeFrequency"),
    *("ServiceSubcategory", "PricingQuantity", "PricingUnit", "PricingCategory", "SkuId", "SkuPriceId", "SkuMeter"),
}
"""Of charges of the categories usage and purchase. Source: FOCUS 1.2, specification/columns."""
MANDATORY = NEVER_NULL | {"BillingAccountName", "ChargeClass", "ChargeDescription"}
ALLOWED = {
    "ChargeCategory": {"Usage", "Purchase", "Tax", "Credit", "Adjustment"},
    "ChargeFrequency": {"One-Time", "Recurring", "Usage-Based"},
    "PricingCategory": {"Standard", "Dynamic", "Committed", "Other"},
}
SERVICES = {
    *(("Compute", "Virtual Machines"), ("Storage", "Block Storage"), ("Networking", "Network Connectivity")),
    *(("AI and Machine Learning", "Generative AI"), ("Migration", "Resource Migration")),
}
"""Pairs that the specification knows."""


def rows(text: str) -> Rows:
    return list(csv.DictReader(io.StringIO(text)))


def billed(*lines: BillLine) -> Rows:
    bill = PlannedBill(date(2026, 12, 1), lines)
    whole = sum((line.monthly_cost_usd for line in lines), Decimal(0))
    return rows(focus_csv(Export("sha256:0", "mine", whole, (), (), {}, (), bill)))


def instances(**changes: object) -> BillLine:
    fields = {"line": "instances", "provider": "acme", "region": "eu", "item": "box", "gpu": "l4", "count": 2}
    priced = {"unit": "instance hour", "unit_price_usd": "0.5", "quantity_per_month": "730", "monthly_cost_usd": "365"}
    return BillLine.model_validate(
        fields | priced | {"gpus_per_instance": 1, "pricing_term": "on_demand", "price_as_of": "2026-11-01"} | changes
    )


@pytest.mark.parametrize("name", ["chat-8b", "api-at-night", "moving-day"])
def test_the_rows_of_a_plan_file_are_its_month_to_the_cent(
    name: str, planned: Planned, catalogs: Catalogs, tmp_path: Path
) -> None:
    report, path = planned(name), tmp_path / "plan.json"
    path.write_text(as_json(report), encoding="utf-8")
    found = rows(focus_csv(export_plan(path, ["focus"], catalogs)))
    month = Decimal(json.loads(as_json(report))["monthly_cost_usd"])
    for column in ("BilledCost", "EffectiveCost", "ListCost"):
        assert sum(Decimal(row[column]) for row in found) == month
    for row in found:
        _check(row)


def _check(row: dict[str, str]) -> None:
    """What FOCUS 1.2 demands of every row."""
    assert tuple(row) == COLUMNS
    assert [name for name in NEVER_NULL if not row[name]] == []
    assert all(row[name] in allowed for name, allowed in ALLOWED.items())
    assert (row["ServiceCategory"], row["ServiceSubcategory"]) in SERVICES
    product = Decimal(row["ContractedUnitPrice"]) * Decimal(row["PricingQuantity"])
    assert abs(product - Decimal(row["ContractedCost"])) < Decimal("1e-9")
    assert abs(product - Decimal(row["BilledCost"])) < Decimal("0.02")
    assert bool(row["ConsumedQuantity"]) == bool(row["ConsumedUnit"]) == (row["ChargeCategory"] == "Usage")
    assert not (row["ChargeCategory"] == "Purchase" and row["ChargeFrequency"] == "Usage-Based")
    assert row["BillingPeriodStart"] == row["ChargePeriodStart"] < row["BillingPeriodEnd"] == row["ChargePeriodEnd"]
    assert row["ChargeClass"] == ""


def test_every_mandatory_column_is_there_and_own_ones_are_marked() -> None:
    assert set(COLUMNS) >= MANDATORY
    assert list(COLUMNS) == sorted(COLUMNS, key=lambda name: (name.startswith("x_"), name))


def test_a_commitment_is_a_recurring_purchase_and_spot_is_priced_dynamically() -> None:
    committed, spot = billed(
        instances(commitment_months=12, pricing_term="reserved_1y"), instances(pricing_term="spot")
    )
    for row in (committed, spot):
        _check(row)
    assert [committed[name] for name in ("ChargeCategory", "ChargeFrequency", "PricingCategory", "EffectiveCost")] == [
        *("Purchase", "Recurring", "Standard", "365.00")
    ]
    assert (committed["x_CommitmentMonths"], committed["ConsumedQuantity"]) == ("12", "")
    assert (spot["PricingCategory"], spot["ConsumedQuantity"], spot["ConsumedUnit"]) == ("Dynamic", "730", "Hours")


def test_a_name_is_never_a_formula_and_a_month_is_whole() -> None:
    (row,) = billed(instances(provider="=1+1"))
    assert row["ProviderName"] == "'=1+1"
    assert (row["BillingPeriodStart"], row["BillingPeriodEnd"]) == ("2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z")


def test_the_bill_stands_beside_the_files_of_tools(planned: Planned, optimizer: Command, tmp_path: Path) -> None:
    path, out = tmp_path / "plan.json", tmp_path / "out"
    path.write_text(as_json(planned("chat-8b")), encoding="utf-8")
    said = optimizer(
        *("export", str(path), "--to", "vllm", "focus", "--output", str(out), "--month", "2027-02", "--format", "json")
    )
    content = json.loads(said.out)
    assert content["targets"] == ["vllm", "focus"]
    assert "focus.csv" in content["files"]
    (row,) = rows((out / "focus.csv").read_text(encoding="utf-8"))
    assert row["BillingPeriodEnd"] == "2027-03-01T00:00:00Z"
    assert "of an average month as 2027-02" in (out / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("targets", "month", "problem"),
    [
        (["vllm"], date(2027, 2, 1), "the bill, which was not asked for"),
        (["focus"], date(9999, 12, 1), "no bill is of the year 9999"),
        (["focus"], date(1, 1, 1), "no bill is of the year 1"),
    ],
)
def test_a_month_that_is_none_of_the_bill_is_refused(
    targets: list[str], month: date, problem: str, catalogs: Catalogs, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=problem):
        export_plan(tmp_path / "plan.json", targets, catalogs, month=month)
