"""Own terms laid over the catalogs: discounts taken off, owned hardware priced in full, stocks and places known."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from support.tables import OWNED, SOURCES

from optimizer import load_scenario
from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.checks import check_rows
from optimizer.inputs.catalog.kinds import ALWAYS_PAID
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.fields import Countries
from optimizer.inputs.scenario.scenario import Policy
from optimizer.performance.market.criteria import OFFER_CRITERIA
from optimizer.performance.market.market import Market, admits_by, market, under
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.verify.claim import Claim
from optimizer.plan.verify.supply import _places

OURS = SOURCES + "ours,Our contracts,private,2026-11-01\n"
DISCOUNT = "provider,gpu,pricing_term,percent,private,source,as_of\n"
BOX = "dgx,basement,h100-sxm,8,nvlink,3,300000,48,0.2,10.2,1.3,0.15,100,900,500,ours,2026-11-01\n"
BOX_ID = "owned/basement/dgx/8xh100-sxm/owned"
STOCK = "provider,region,gpu,pricing_term,max_instances,source,as_of\n"
P5 = "aws/us-east-1/p5.48xlarge/8xh100-sxm/on_demand"
P5_LIST = Decimal("55.04")


def loaded(folder: Path, **files: str) -> Catalogs:
    for name, text in ({"sources": OURS} | files).items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return load_catalogs(folder)


def problem(folder: Path, **files: str) -> Finding:
    with pytest.raises(InputError) as caught:
        loaded(folder, **files)
    (finding,) = caught.value.findings
    return finding


def price(catalogs: Catalogs, offer_id: str) -> Decimal:
    return next(offer.price_usd_per_hour for offer in catalogs.offers if offer.id == offer_id)


def fails(offers: Market, offer_id: str) -> set[str]:
    (row,) = (row for row, offer in zip(offers.failed, offers.offers, strict=True) if offer.id == offer_id)
    return {criterion.name for criterion, failed in zip(OFFER_CRITERIA, row, strict=True) if failed}


def at(offers: Market, offer_id: str) -> int:
    return [offer.id for offer in offers.offers].index(offer_id)


def test_the_most_exact_discount_is_taken_off_and_the_list_price_remembered(tmp_path: Path) -> None:
    rows = [("*,*", "5,yes"), ("h100-*,*", "8,yes"), ("h100-sxm,on_demand", "15,no")]
    lines = "".join(f"aws,{which},{granted},ours,2026-11-01\n" for which, granted in rows)
    catalogs = loaded(tmp_path, discounts=DISCOUNT + lines)
    assert price(catalogs, P5) == P5_LIST * Decimal("0.85")
    applied = catalogs.terms.discounts[P5]
    assert (applied.list_price_usd_per_hour, applied.discount.percent) == (P5_LIST, 15)
    assert not applied.discount.private
    l4 = catalogs.terms.discounts["aws/us-east-1/g6.xlarge/1xl4/on_demand"]
    assert l4.discount.percent == 5
    assert not any(name.startswith("gcp/") for name in catalogs.terms.discounts)


def test_discounts_that_are_equally_exact_must_agree(tmp_path: Path) -> None:
    rows = "aws,*,on_demand,5,yes,ours,2026-11-01\naws,h100-sxm,*,8,yes,ours,2026-11-01\n"
    found = problem(tmp_path, discounts=DISCOUNT + rows)
    assert (found.line, found.field) == (3, "percent")
    assert "line 2" in found.problem


@pytest.mark.parametrize(
    ("row", "field", "words"),
    [
        ("awz,*,*,5,yes,ours,2026-11-01\n", "provider", "matches no offer"),
        ("aws,*,*,100,yes,ours,2026-11-01\n", "percent", "less than or equal to 99"),
        ("aws,*,*,5,perhaps,ours,2026-11-01\n", "private", "boolean"),
        ("aws,*,*,5,yes,theirs,2026-11-01\n", "source", "unknown 'theirs'"),
    ],
)
def test_a_discount_that_is_none_says_why(row: str, field: str, words: str, tmp_path: Path) -> None:
    found = problem(tmp_path, discounts=DISCOUNT + row)
    assert (found.line, found.field) == (2, field)
    assert words in found.problem


def test_owned_hardware_is_an_offer_at_its_full_monthly_cost(tmp_path: Path) -> None:
    catalogs = loaded(tmp_path, owned=OWNED + BOX)
    monthly = Decimal(300_000) * Decimal("0.8") / 48 + Decimal("10.2") * Decimal("1.3") * 730 * Decimal("0.15") + 1500
    assert price(catalogs, BOX_ID) * 730 == pytest.approx(monthly, abs=Decimal("0.01"))
    assert catalogs.terms.owned[BOX_ID].instances == 3
    offers = market(catalogs, Policy(storage_gb_per_instance=500))
    row = at(offers, BOX_ID)
    assert fails(offers, BOX_ID) == set()
    assert offers.always_paid[row]
    assert offers.available_instances[row] == 3
    assert offers.storage_usd_per_month[row] == 0


def test_owned_hardware_without_its_own_power_draws_its_gpus_rated_power(tmp_path: Path) -> None:
    catalogs = loaded(tmp_path, owned=OWNED + BOX.replace("10.2", ""))
    power = Decimal("5.6") * Decimal("1.3") * 730 * Decimal("0.15")
    assert price(catalogs, BOX_ID) * 730 == pytest.approx(5000 + 1500 + power, abs=Decimal("0.01"))


@pytest.mark.parametrize(
    ("row", "field", "words"),
    [
        (BOX.replace("h100-sxm", "h100"), "gpu", "unknown 'h100'"),
        (BOX.replace(",48,", ",0,"), "amortisation_months", "greater than or equal to 1"),
        (BOX.replace("0.2,10.2", "1.5,10.2"), "resale_share", "less than 1"),
    ],
)
def test_owned_hardware_that_cannot_be_says_why(row: str, field: str, words: str, tmp_path: Path) -> None:
    found = problem(tmp_path, owned=OWNED + row)
    assert (found.line, found.field) == (2, field)
    assert words in found.problem


def test_owned_hardware_does_not_hide_among_rented_offers(tmp_path: Path) -> None:
    columns = "provider,provider_kind,region,instance_type,gpu,gpu_count,price_usd_per_hour,pricing_term"
    rows = f"{columns},as_of,source,confidence\nacme,neocloud,us,box,l4,1,0.5,owned,2026-11-01,ours,listed\n"
    found = problem(tmp_path, offers=rows)
    assert (found.field, found.hint) == ("pricing_term", "describe it in owned.csv")


def test_hosting_decides_between_owned_and_rented(tmp_path: Path) -> None:
    catalogs = loaded(tmp_path, owned=OWNED + BOX)
    assert fails(market(catalogs, Policy(hosting=("rented",))), BOX_ID) == {"hosting"}
    only_owned = market(catalogs, Policy(hosting=("owned",)))
    assert [only_owned.offers[row].id for row in np.flatnonzero(only_owned.admitted)] == [BOX_ID]


def test_stocks_limit_each_offer_that_matches_and_the_fewest_count(tmp_path: Path) -> None:
    rows = "aws,us-*,h100-*,*,9,ours,2026-11-01\naws,us-east-1,h100-sxm,on_demand,2,ours,2026-11-01\n"
    offers = market(loaded(tmp_path, availability=STOCK + rows), Policy())
    stock = dict(zip((offer.id for offer in offers.offers), offers.available_instances, strict=True))
    assert stock[P5] == 2
    assert stock["aws/us-west-2/p5.48xlarge/8xh100-sxm/on_demand"] == 9
    assert stock["aws/us-east-1/g6.xlarge/1xl4/on_demand"] == np.inf
    found = problem(tmp_path, availability=STOCK + "aws,eu-moon-1,*,*,1,ours,2026-11-01\n")
    assert (found.field, found.problem) == ("region", "matches no offer of the catalogs")


def test_reserved_committed_and_owned_are_always_paid(catalogs: Catalogs) -> None:
    offers = market(catalogs, Policy())
    terms = {offer.pricing_term for offer, paid in zip(offers.offers, offers.always_paid, strict=True) if paid}
    assert terms
    assert terms <= ALWAYS_PAID
    assert not {"on_demand", "spot"} & terms


def test_countries_are_allowed_by_code_and_by_zone_and_unknown_ones_fail(catalogs: Catalogs) -> None:
    asked = {"countries": {"allow": ["EU"], "deny": ["fr"]}, "max_price_age_days": None}
    offers = market(catalogs, Policy.model_validate(asked))
    countries = {offers.country[row] for row in np.flatnonzero(~offers.failed[:, at_criterion("country")])}
    assert {"de", "se", "ie"} <= countries
    assert not {"fr", "us", "gb", "no"} & countries
    assert fails(offers, "aws/eu-north-1/p5.48xlarge/8xh100-sxm/on_demand") == set()
    assert "country" in fails(offers, P5)
    somewhere = next(offer.id for offer, land in zip(offers.offers, offers.country, strict=True) if not land)
    assert "country_known" in fails(offers, somewhere)
    assert "country" not in fails(offers, somewhere)
    assert "country_known" not in fails(market(catalogs, Policy()), somewhere)


def at_criterion(name: str) -> int:
    return [criterion.name for criterion in OFFER_CRITERIA].index(name)


def test_carbon_is_power_times_overhead_times_grid(tmp_path: Path) -> None:
    grid = {"g_co2_per_kwh": {"us-east-1": 380, "basement": 50}, "pue": 1.2}
    policy = Policy.model_validate({"grid": grid, "max_carbon_kg_per_month": 100, "max_price_age_days": None})
    offers = market(loaded(tmp_path, owned=OWNED + BOX), policy)
    assert offers.carbon_kg_per_hour[at(offers, P5)] == pytest.approx(8 * 0.7 * 1.2 * 0.38)
    assert offers.carbon_kg_per_hour[at(offers, BOX_ID)] == pytest.approx(10.2 * 1.3 * 0.05)
    elsewhere = "aws/us-west-2/p5.48xlarge/8xh100-sxm/on_demand"
    assert np.isnan(offers.carbon_kg_per_hour[at(offers, elsewhere)])
    assert fails(offers, elsewhere) == {"carbon_known"}


def test_storage_is_priced_where_the_price_is_known(catalogs: Catalogs) -> None:
    offers = market(catalogs, Policy(storage_gb_per_instance=200))
    by_provider = dict(zip((offer.provider for offer in offers.offers), offers.storage_usd_per_month, strict=True))
    assert by_provider["aws"] == pytest.approx(16)
    assert by_provider["gcp"] == pytest.approx(20)
    assert np.isnan(by_provider["nebius"])
    unpriced = np.isnan(offers.storage_usd_per_month)
    assert (offers.failed[:, at_criterion("storage_priced")] == unpriced).all()
    assert not market(catalogs, Policy()).storage_usd_per_month.any()


def test_egress_is_priced_where_the_price_is_known(catalogs: Catalogs) -> None:
    offers = market(catalogs, Policy.model_validate({"egress": {"bytes_per_output_token": 300}}))
    by_provider = dict(zip((offer.provider for offer in offers.offers), offers.egress_usd_per_gb, strict=True))
    assert by_provider["aws"] == pytest.approx(0.09)
    assert by_provider["coreweave"] == 0
    assert np.isnan(by_provider["verda"])
    unpriced = np.isnan(offers.egress_usd_per_gb)
    assert (offers.failed[:, at_criterion("egress_priced")] == unpriced).all()
    assert not market(catalogs, Policy()).egress_usd_per_gb.any()


def test_interrupted_spot_offers_serve_less_of_the_month(catalogs: Catalogs) -> None:
    policy = Policy.model_validate({"spot": {"interruptions_per_month": 73, "recovery_minutes": 30}})
    offers = market(catalogs, policy)
    spot = np.array([offer.pricing_term == "spot" for offer in offers.offers])
    assert offers.serving_share[spot] == pytest.approx(0.95)
    assert (offers.serving_share[~spot] == 1).all()


def test_policies_that_a_market_depends_on_are_told_apart() -> None:
    plain = admits_by(Policy())
    for changes in (
        {"countries": {"deny": ["us"]}},
        {"hosting": ["owned"]},
        {"grid": {"g_co2_per_kwh": 3, "pue": 1}},
        {"storage_gb_per_instance": 1},
        {"egress": {"bytes_per_output_token": 1}},
        {"spot": {"interruptions_per_month": 1, "recovery_minutes": 1}},
    ):
        assert admits_by(Policy.model_validate(changes)) != plain
    assert admits_by(Policy(max_gpus=3, confidence=0.5)) == plain


def test_a_market_held_against_another_policy_is_the_market_of_that_policy(catalogs: Catalogs) -> None:
    first = market(catalogs, Policy(countries=Countries(allow=("eu",)), storage_gb_per_instance=200))
    for asked in ({}, {"pricing_terms": ["spot"]}, {"max_price_age_days": 90}, {"regions": {"deny": ["us-*"]}}):
        policy = Policy.model_validate(asked)
        again, fresh = under(first, policy), market(catalogs, policy)
        assert (again.failed == fresh.failed).all()
        assert (again.storage_usd_per_month == fresh.storage_usd_per_month).all()


@pytest.mark.parametrize(
    ("regions", "governed", "others"),
    [
        ({}, False, True),
        ({"allow": ["us-*"]}, False, True),
        ({"allow": ["*"]}, False, True),
        ({"allow": ["us-gov-west-1", "us-east-1"]}, True, True),
        ({"allow": ["us-gov-*"]}, True, False),
        ({"allow": ["us-gov-*"], "deny": ["us-gov-west-1"]}, False, False),
    ],
)
def test_a_region_of_a_government_is_bought_in_where_it_is_named(
    regions: dict[str, list[str]], governed: bool, others: bool, catalogs: Catalogs
) -> None:
    policy = Policy.model_validate({"regions": regions})
    found = market(catalogs, policy)
    there = {offer.region for offer, admitted in zip(found.offers, found.admitted, strict=True) if admitted}
    assert ("us-gov-west-1" in there, "us-east-1" in there) == (governed, others)
    # verification reads the catalogs by itself
    claim = Claim(load_scenario("chat-8b").model_copy(update={"policy": policy}), catalogs, PlannedFleet())
    for region, admitted in (("us-gov-west-1", governed), ("us-east-1", others)):
        offer = next(each for each in catalogs.offers if each.region == region)
        assert all(_places(claim, policy, offer).values()) == admitted


def test_a_region_that_takes_an_account_of_its_own_is_a_fact_of_the_catalogs(catalogs: Catalogs) -> None:
    apart = {key: row for key, row in catalogs.terms.regions.items() if row.account}
    assert set(apart) == {("aws", "us-gov-east-1"), ("aws", "us-gov-west-1")}
    assert {row.source for row in apart.values()} == {"aws-govcloud"}


def test_every_shipped_region_is_placed_or_says_why_not(catalogs: Catalogs) -> None:
    regions = catalogs.terms.regions
    assert {(offer.provider, offer.region) for offer in catalogs.offers} == set(regions)
    for place in regions.values():
        assert place.country or place.note, place
        assert place.country or not place.zones, place
        assert set(place.zones) <= {"eea", "eu"}
        assert ("eu" in place.zones) <= ("eea" in place.zones)
    by_country: dict[str, set[tuple[str, ...]]] = {}
    for place in regions.values():
        by_country.setdefault(place.country, set()).add(place.zones)
    assert all(len(zones) == 1 for zones in by_country.values())


def test_catalog_check_names_the_providers_whose_country_is_not_known(catalogs: Catalogs) -> None:
    found = {each.subject: each for each in check_rows(catalogs) if each.check == "places"}
    assert found["verda"].severity == "note"
    assert "in global" in found["verda"].text
    assert not {"aws", "azure", "gcp"} & set(found)


def test_an_offer_that_nobody_placed_has_no_country(catalogs: Catalogs) -> None:
    unplaced = replace(catalogs, terms=replace(catalogs.terms, regions={}))
    assert set(market(unplaced, Policy()).country) == {""}


def test_sunk_hardware_counts_only_what_running_it_costs(tmp_path: Path) -> None:
    """10.2 kW × 1.3 × 730 h × 0.15 USD/kWh and 1,500 USD beside, instead of 5,000 a month more."""
    sunk = OWNED.replace("source", "sunk,source") + BOX.replace(",ours,", ",{sunk},ours,")
    running = Decimal("10.2") * Decimal("1.3") * 730 * Decimal("0.15") + 1500
    for said, usd_per_month in (("yes", running), ("no", running + 5000), ("", running + 5000)):
        catalogs = loaded(tmp_path, owned=sunk.format(sunk=said))
        assert price(catalogs, BOX_ID) * 730 == pytest.approx(usd_per_month)
