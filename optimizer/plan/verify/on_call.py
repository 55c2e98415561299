"""Who answers, again, where nothing runs and nothing is asked: hosted APIs of the catalogs, called otherwise or not."""

from collections.abc import Iterator
from decimal import Decimal

from optimizer.inputs.catalog.records import ServerlessPrice
from optimizer.inputs.scenario.scenario import RequestClass, Workload
from optimizer.plan.record.fleet import Hosted
from optimizer.plan.verify.bill import api_may_serve, listed_usd_per_request
from optimizer.plan.verify.claim import Claim


def answered_by_apis(claim: Claim, workload: Workload) -> bool:
    """Whether some hosted API may serve each class of a workload."""
    return all(any(_may_serve(claim, item) for item in _sold(claim, workload, each)) for each in workload.classes())


def _may_serve(claim: Claim, item: Hosted) -> bool:
    return all(holds for holds, _ in api_may_serve(claim, item))


def _sold(claim: Claim, workload: Workload, each: RequestClass) -> Iterator[Hosted]:
    """Every API of a model that the workload may use, as if it were sent nothing."""
    for model in claim.models(workload.name):
        for row in claim.catalogs.serverless:
            if row.model == claim.catalogs.model(model).id and (usd := _usd(row, workload, each)):
                yield Hosted(
                    api=row.provider_model_name,
                    provider=row.provider,
                    model=model,
                    workload=workload.name,
                    request_class=each.name,
                    schedule=[],
                    requests_per_month=0.0,
                    usd_per_request=usd,
                    monthly_cost_usd=Decimal(0),
                    price_as_of=row.as_of,
                    price_source=claim.catalogs.sources[row.source].cited,
                )


def _usd(row: ServerlessPrice, workload: Workload, each: RequestClass) -> Decimal:
    """The price of a request; nothing where one of the two prices of tokens is missing."""
    if (row.usd_per_million_input_tokens is None) != (row.usd_per_million_output_tokens is None):
        return Decimal(0)
    exact = listed_usd_per_request(row, each.input_tokens, each.output_tokens, workload.cached_input_share)
    return Decimal(exact.numerator) / exact.denominator
