"""How old the prices are that a plan pays, and which of them a policy admits no more."""

from datetime import date

from optimizer.answers.gate.baseline import GatePlan
from optimizer.inputs.catalog.entries.per_second import PerSecondPrice
from optimizer.inputs.catalog.records import Catalogs, ServerlessPrice


def ages_days(plan: GatePlan, catalogs: Catalogs, today: date | None) -> dict[str, int]:
    """The age of every price that a plan pays, by the name of its offer or API; None: on the day of the catalogs."""
    paid = {*(each.offer for each in plan.purchases), *(each.name for each in plan.hosted)}
    dates = {offer.id: offer.as_of for offer in catalogs.offers}
    dates |= {api_name(row): row.as_of for row in catalogs.serverless}
    dates |= {api_name(row): row.as_of for row in catalogs.per_second}
    until = today or catalogs.as_of
    return {name: (until - dates[name]).days for name in sorted(paid & dates.keys())}


def expired(plan: GatePlan, oldest_days: int | None, catalogs: Catalogs) -> dict[str, int]:
    """What a plan pays and a policy admits no more, its price being too old by now: the age of each, days."""
    if oldest_days is None:
        return {}
    return {name: age for name, age in ages_days(plan, catalogs, None).items() if age > oldest_days}


def api_name(row: ServerlessPrice | PerSecondPrice) -> str:
    """What a hosted API, or a container paid by the second, is called wherever a gate names one: its provider, then
    the provider's name of the model or the container."""
    return f"{row.provider}/{row.name if isinstance(row, PerSecondPrice) else row.provider_model_name}"


def hosted_names(catalogs: Catalogs) -> set[str]:
    """Everything of the catalogs that is paid by the request or the second."""
    return {*map(api_name, catalogs.serverless), *map(api_name, catalogs.per_second)}
