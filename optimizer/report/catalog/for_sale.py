"""The catalogs of what is for sale, where and by whom, as they are listed."""

from collections.abc import Mapping
from typing import Final

from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.report.catalog.listing import Listing


def _offers(catalogs: Catalogs) -> list[Offer]:
    return sorted(catalogs.offers, key=lambda offer: (offer.gpu, offer.price_usd_per_hour / offer.gpu_count, offer.id))


def _term(offer: Offer) -> str:
    term = offer.pricing_term.replace("_", " ")
    return f"{term} {offer.commitment_months} months" if term == "committed" and offer.commitment_months else term


FOR_SALE: Final[Mapping[str, Listing]] = {
    "offers": Listing(
        "an instance one can buy, with the price of the whole instance",
        _offers,
        {
            "provider": "{provider}",
            "region": "{region}",
            "instance": "{instance_type}",
            "GPUs": "{gpu_count}× {gpu}",
            "term": _term,
            ">$/h": "{price_usd_per_hour:price}",
            ">$/GPU-h": lambda offer: f"{offer.price_usd_per_hour / offer.gpu_count:.2f}",
            "as of": "{as_of}",
            "price": "{confidence}",
        },
        ("id", "provider", "provider_kind", "region", "instance_type", "gpu", "pricing_term", "confidence"),
    ),
    "sellers": Listing(
        "whom one would sign with: what kind of seller a provider is, and what it says of itself",
        lambda known: tuple(known.terms.sellers.values()),
        {
            "provider": lambda row: f"{row.provider} {row.provider_kind}".rstrip(),
            "seller": "{kind}",
            "whole GPUs": "{whole_gpu}",
            "may serve others": "{serves_others}",
            "SLA": "{sla}",
            "billed by": "{billing_increment}",
            "at least": "{minimum_commitment}",
            "as of": "{as_of}",
        },
        ("provider", "kind", "whole_gpu"),
    ),
    "regions": Listing(
        "where a provider's region stands, as far as its name or documentation tells",
        lambda known: tuple(known.terms.regions.values()),
        {
            "provider": "{provider}",
            "region": "{region}",
            "country": "{country}",
            "zones": "{zones:list}",
            "account": "{account}",
            "as of": "{as_of}",
            "note": "{note}",
        },
        ("provider", "region", "country"),
    ),
    "round-trips": Listing(
        "the network between where users are and a provider's region",
        lambda known: tuple(known.terms.round_trips.values()),
        {
            "users in": "{geography}",
            "provider": "{provider}",
            "region": "{region}",
            ">round trip": "{rtt_ms:number} ms",
            "statistic": "{statistic}",
            "status": "{status}",
            "as of": "{as_of}",
        },
        ("geography", "provider", "region", "status"),
    ),
    "grid": Listing(
        "what a kilowatt-hour emits where a provider's region stands",
        lambda known: tuple(known.terms.grid.values()),
        {
            "provider": "{provider}",
            "region": "{region}",
            ">g CO₂/kWh": "{g_co2_per_kwh:rounded}",
            ">year": "{year}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "region"),
    ),
    "price_checks": Listing(
        "what another source says that a GPU costs at a provider",
        lambda known: known.terms.price_checks,
        {
            "provider": "{provider}",
            "GPUs": "{gpu_count}× {gpu}",
            "term": "{pricing_term:words}",
            ">$/GPU-h": "{usd_per_gpu_hour:price}",
            "as of": "{as_of}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "gpu", "pricing_term"),
    ),
    "price_trends": Listing(
        "what a GPU cost at a provider on two days",
        lambda known: known.terms.price_trends,
        {
            "provider": "{provider}",
            "GPU": "{gpu}",
            "variant": "{variant}",
            "term": "{pricing_term:words}",
            "from": "{first_as_of}",
            ">was": "{first_usd_per_gpu_hour:price}",
            "to": "{as_of}",
            ">$/GPU-h": "{usd_per_gpu_hour:price}",
            ">% a year": "{percent_per_year:.1f}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "gpu", "pricing_term"),
    ),
    "risk_spreads": Listing(
        "how far demand, prices and spot capacity were seen to spread",
        lambda known: known.terms.risk_spreads,
        {
            "quantity": "{quantity:words}",
            "seller": "{seller}",
            "term": "{pricing_term:words}",
            ">p10": "{p10:number}",
            ">p50": "{p50:number}",
            ">p90": "{p90:number}",
            "unit": "{unit:words}",
            ">series": "{series}",
            "as of": "{as_of}",
            "source": "{source}",
            "note": "{note}",
        },
        ("quantity", "seller", "pricing_term"),
    ),
    "serverless_checks": Listing(
        "what another source says that a hosted API costs",
        lambda known: known.terms.serverless_checks,
        {
            "provider": "{provider}",
            "API": "{provider_model_name}",
            ">$/M in": "{usd_per_million_input_tokens:unit_price}",
            ">$/M out": "{usd_per_million_output_tokens:unit_price}",
            "as of": "{as_of}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "provider_model_name"),
    ),
}
"""In the order of `LISTINGS`."""
