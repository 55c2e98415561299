"""A plan's bill in the columns of FOCUS 1.2, the FinOps Open Cost and Usage Specification: a row for each line."""

import csv
import io
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from optimizer.answers.bill import FINEST, BillLine, LineOf, Unit
from optimizer.answers.running.export.record import Export
from optimizer.inputs.catalog.kinds import SPOT
from optimizer.report.layout.cells import csv_cell

FOCUS_VERSION: Final = "1.2"
FOCUS_FILE: Final = "focus.csv"
COLUMNS: Final = (
    *("BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency"),
    *("BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription"),
    *("ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart", "ConsumedQuantity", "ConsumedUnit"),
    *("ContractedCost", "ContractedUnitPrice", "EffectiveCost", "InvoiceIssuerName", "ListCost"),
    *("PricingCategory", "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "RegionId"),
    *("ServiceCategory", "ServiceName", "ServiceSubcategory", "SkuId", "SkuMeter", "SkuPriceId"),
    *("x_CommitmentMonths", "x_Gpu", "x_GpusPerInstance", "x_Instances", "x_PriceAsOf", "x_PriceSource"),
    "x_PricingTerm",
)
"""Every mandatory column in the order of the specification, others where a plan knows them, and our own behind `x_`.

List prices are left out: discounts are nobody else's business, and `ListCost` is then what is billed.
"""
SERVICES: Final[Mapping[LineOf, tuple[str, str, str, str]]] = {
    "instances": ("Compute", "Virtual Machines", "GPU instances", "Compute Usage"),
    "storage": ("Storage", "Block Storage", "Block storage", "Block Volume Usage"),
    "egress": ("Networking", "Network Connectivity", "Data transfer", "Data Transfer"),
    "requests": ("AI and Machine Learning", "Generative AI", "Hosted model API", "API Requests"),
    "containers": ("Compute", "Serverless Compute", "GPU containers", "Container Usage"),
    "changes": ("Migration", "Resource Migration", "Change of deployment", "Replica Changes"),
}
"""Category, subcategory, name and meter of what a line is for."""
UNITS: Final[Mapping[Unit, str]] = {
    "instance hour": "Hours",
    "GB": "GB",
    "request": "Requests",
    "container second": "Seconds",
    "once": "Units",
}
OWN: Final = "own organization"
"""Who charges for a change of one's own deployment."""
MONTH_DAYS: Final = 31


def focus_csv(found: Export) -> str:
    """The bill of an export in the columns of FOCUS 1.2.

    Args:
        found: What a plan exports.

    Returns:
        CSV, headings first, empty where no bill was asked for. Billed, effective and list cost each add up to the
        plan's month, to the cent.
    """
    if found.bill is None:
        return ""
    out = io.StringIO()
    sheet = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    sheet.writeheader()
    beside = {
        "BillingAccountId": found.plan_id,
        "BillingAccountName": found.scenario,
        "BillingAccountType": "Planned month",
        "BillingCurrency": "USD",
        **_period(found.bill.month),
    }
    sheet.writerows(
        {name: csv_cell(str(cell)) for name, cell in (beside | _charge(line)).items() if cell not in (None, "")}
        for line in found.bill.lines
    )
    return out.getvalue()


def _period(first: date) -> dict[str, object]:
    """From the first of a month to that of the next, as billing and as charge period."""
    bounds = {"Start": first, "End": (first + timedelta(days=MONTH_DAYS)).replace(day=1)}
    return {
        f"{kind}Period{bound}": f"{day.isoformat()}T00:00:00Z"
        for kind in ("Billing", "Charge")
        for bound, day in bounds.items()
    }


def _charge(line: BillLine) -> dict[str, object]:
    """One line of the bill.

    What is committed to is a recurring purchase of this month: it covers nothing later, so it is effective as billed.
    """
    category, subcategory, service, meter = SERVICES[line.line]
    committed = line.line == "instances" and line.commitment_months > 0
    bought = committed or line.line == "changes"
    quantity, provider = _number(line.quantity_per_month), line.provider or OWN
    sku = meter if line.line == "changes" else f"{meter}/{line.item}"
    used = {} if bought else {"ConsumedQuantity": quantity, "ConsumedUnit": UNITS[line.unit]}
    return {
        **dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost"), f"{line.monthly_cost_usd:.2f}"),
        **dict.fromkeys(("InvoiceIssuerName", "ProviderName", "PublisherName"), provider),
        **used,
        "ContractedUnitPrice": _number(line.unit_price_usd),
        "PricingQuantity": quantity,
        "ContractedCost": _number(line.unit_price_usd.quantize(FINEST) * line.quantity_per_month.quantize(FINEST)),
        "ChargeCategory": "Purchase" if bought else "Usage",
        "ChargeDescription": _description(line),
        "ChargeFrequency": "Recurring" if committed else "One-Time" if bought else "Usage-Based",
        "PricingCategory": "Dynamic" if line.line == "instances" and line.pricing_term == SPOT else "Standard",
        "PricingUnit": UNITS[line.unit],
        "RegionId": line.region,
        "ServiceCategory": category,
        "ServiceName": service,
        "ServiceSubcategory": subcategory,
        "SkuId": sku,
        "SkuMeter": meter,
        "SkuPriceId": "/".join(filter(None, (sku, line.region, line.pricing_term))),
        "x_CommitmentMonths": line.commitment_months or None,
        "x_Gpu": line.gpu,
        "x_GpusPerInstance": line.gpus_per_instance or None,
        "x_Instances": line.count or None,
        "x_PriceAsOf": line.price_as_of,
        "x_PriceSource": line.price_source,
        "x_PricingTerm": line.pricing_term,
    }


def _description(line: BillLine) -> str:
    counted = f"{line.count:,} × {line.item}" if line.count else line.item
    gpus = f" ({line.gpus_per_instance} × {line.gpu})" if line.gpu else ""
    return f"{SERVICES[line.line][2]}: {counted}{gpus}, planned for an average month"


def _number(amount: Decimal) -> str:
    """As short as it is exact, without an exponent."""
    return f"{amount.quantize(FINEST).normalize():f}"
