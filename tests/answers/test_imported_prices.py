"""Other price lists become offers by recorded names only: nothing is guessed, no zero gets in, the rest is counted."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from support.command import Command

from optimizer.answers.catalog.imported import ImportedPrices, PriceListTerms
from optimizer.answers.catalog.importing import import_prices
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.names import names_of
from optimizer.report.catalog.importing import import_sections

SKYPILOT = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,Zone"
GPUHUNT = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size"
PLAIN = "provider,region,instance_type,gpu,gpu_count,price_usd_per_hour,pricing_term"
EIGHTY_GB = "\"{'Gpus': [{'Name': 'H100', 'Count': 8.0, 'MemoryInfo': {'SizeInMiB': 81920}}]}\""
TERMS = PriceListTerms(source="list", as_of=date(2026, 11, 20), provider="aws")


def imported(folder: Path, catalogs: Catalogs, terms: PriceListTerms, *lines: str) -> ImportedPrices:
    (folder / "list.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return import_prices(folder / "list.csv", catalogs, terms)


def test_a_skypilot_row_gives_an_on_demand_and_a_spot_offer(tmp_path: Path, catalogs: Catalogs) -> None:
    row = f"p5.48xlarge,H100,8.0,192.0,2048.0,{EIGHTY_GB},55.04,22.1,us-east-1,us-east-1a"
    found = imported(tmp_path, catalogs, TERMS, SKYPILOT, row)
    on_demand, spot = found.offers
    assert found.format_name == "skypilot"
    assert (on_demand.gpu, on_demand.gpu_count, on_demand.link) == ("h100-sxm", 8, "nvlink")
    assert (on_demand.price_usd_per_hour, spot.price_usd_per_hour) == (Decimal("55.04"), Decimal("22.1"))
    assert (spot.pricing_term, spot.provider_kind, spot.source) == ("spot", "hyperscaler", "list")
    assert found.left_out == ()


def test_zones_of_a_region_become_one_price_that_was_listed(tmp_path: Path, catalogs: Catalogs) -> None:
    rows = [f"g6.xlarge,L4,1.0,4.0,16.0,,0.8,{spot},us-east-1,{zone}" for spot, zone in ((0.5, "a"), (0.3, "b"))]
    found = imported(tmp_path, catalogs, TERMS, SKYPILOT, *rows)
    on_demand, spot = found.offers
    assert (on_demand.price_usd_per_hour, on_demand.note) == (Decimal("0.8"), "")
    assert spot.price_usd_per_hour == Decimal("0.5")
    assert spot.note == "median of 2 listings from 0.3 to 0.5"
    assert found.merged == 2


def test_gigabytes_under_a_heading_of_mebibytes_are_read_as_gigabytes_and_that_is_said(
    tmp_path: Path, catalogs: Catalogs
) -> None:
    """Rows of RunPod as SkyPilot lists them; the description tells the form factor that the name leaves open."""
    gpu = "\"{'Gpus': [{'Name': 'A100 PCIe', 'Count': 1, 'MemoryInfo': {'SizeInMiB': 80}}]}\""
    row = f"1x_A100-80GB_SECURE,A100-80GB,1.0,8.0,117.0,{gpu},1.39,,SE,EU-SE-1"
    found = imported(
        tmp_path, catalogs, replace(TERMS, provider="runpod", provider_kind="neocloud"), SKYPILOT, row, row
    )
    assert [(offer.gpu, offer.price_usd_per_hour) for offer in found.offers] == [("a100-80-pcie", Decimal("1.39"))]
    assert found.remarks == (("SizeInMiB is below 1,024, which no GPU has: read as GB", 2),)
    assert "2 prices: SizeInMiB is below 1,024, which no GPU has: read as GB" in import_sections(found, "", ())[0].lines


def test_a_gpuhunt_row_names_its_provider_and_its_memory_decides_between_cards(
    tmp_path: Path, catalogs: Catalogs
) -> None:
    rows = (
        "gpu_1x_h100_pcie,us-east-1,2.49,26,200,1,H100,80,False,512,lambdalabs",
        "NC40,eastus,6.98,40,320,1,H100,94,True,128,azure",
        "cpu,eastus,0.2,4,16,0,,,False,30,azure",
    )
    found = imported(tmp_path, catalogs, replace(TERMS, provider=""), f"{GPUHUNT},provider", *rows)
    named = {(offer.provider, offer.gpu, offer.pricing_term) for offer in found.offers}
    assert named == {("lambda", "h100-pcie", "on_demand"), ("azure", "h100-nvl", "spot")}
    assert [(item.reason, item.rows) for item in found.left_out] == [("no GPU", 1)]


def test_own_columns_pass_and_their_dates_and_sources_stay(tmp_path: Path, catalogs: Catalogs) -> None:
    row = "aws,us-east-1,g6.xlarge,NVIDIA-L4,1,0.8,reserved_1y,2026-10-01,litgpt-0.5.13"
    found = imported(tmp_path, catalogs, PriceListTerms(gpus={"nvidia l4": "l4"}), f"{PLAIN},as_of,source", row)
    (offer,) = found.offers
    assert (offer.as_of, offer.source, offer.commitment_months) == (date(2026, 10, 1), "litgpt-0.5.13", 12)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("p2.xlarge,K80,1.0,4,61,,0.9,,us-east-1,a", "GPU not in the catalog"),
        ("px.large,H100,8.0,4,61,,50,,us-east-1,a", "GPU may be h100-nvl or h100-pcie or h100-sxm"),
        ("g6f.large,L4,0.125,2,8,,0.2,,us-east-1,a", "not a whole number of GPUs"),
        ("g6.xlarge,L4,,2,8,,0.2,,us-east-1,a", "number of GPUs cannot be read"),
        ("g6.xlarge,L4,1,2,8,,0,,us-east-1,a", "price is not above zero"),
        ("g6.xlarge,L4,1,2,8,,-0.2,,us-east-1,a", "price is not above zero"),
        ("g6.xlarge,L4,1,2,8,,NaN,,us-east-1,a", "price is not above zero"),
        ("g6.xlarge,L4,1,2,8,,Infinity,,us-east-1,a", "price is not above zero"),
        ("g6.xlarge,L4,1,2,8,,dear,,us-east-1,a", "price cannot be read"),
        ("g6.xlarge,L4,1,2,8,,,,us-east-1,a", "no price"),
        ("g6.xlarge,L4,1,many,8,,1,,us-east-1,a", "vcpus cannot be read"),
        ("g6.xlarge,L4,1,2,8,,1,,,a", "region cannot be read"),
    ],
)
def test_what_cannot_be_told_is_left_out_with_its_reason_and_line(
    row: str, reason: str, tmp_path: Path, catalogs: Catalogs
) -> None:
    found = imported(tmp_path, catalogs, TERMS, SKYPILOT, row)
    assert found.offers == ()
    assert [(item.reason, item.rows, item.first_line) for item in found.left_out] == [(reason, 1, 2)]


def test_a_new_provider_needs_a_kind_and_keeps_its_name(tmp_path: Path, catalogs: Catalogs) -> None:
    row = "box,L4,1,2,8,,0.5,,eu,a"
    unknown = imported(tmp_path, catalogs, replace(TERMS, provider="Acme"), SKYPILOT, row)
    assert [item.reason for item in unknown.left_out] == ["provider not in the catalog"]
    known = imported(tmp_path, catalogs, replace(TERMS, provider="Acme", provider_kind="neocloud"), SKYPILOT, row)
    assert [(offer.provider, offer.provider_kind) for offer in known.offers] == [("acme", "neocloud")]


def test_source_day_and_provider_are_demanded_where_the_file_is_silent(tmp_path: Path, catalogs: Catalogs) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, catalogs, PriceListTerms(), SKYPILOT, "g6.xlarge,L4,1,4,16,,0.8,,us-east-1,a")
    assert [finding.field for finding in caught.value.findings] == ["--as-of", "--provider", "--source"]


def test_an_unknown_list_says_which_columns_are_known(tmp_path: Path, catalogs: Catalogs) -> None:
    with pytest.raises(InputError, match="no known price list has these columns") as caught:
        imported(tmp_path, catalogs, TERMS, "a,b", "1,2")
    assert "gpuhunt: instance_name" in str(caught.value)


def test_every_alias_leads_to_a_gpu_or_a_provider_of_the_catalog(catalogs: Catalogs) -> None:
    names = names_of(catalogs)
    for alias in catalogs.offer_aliases:
        if alias.subject == "gpu":
            assert alias.id in catalogs.gpus
        elif alias.subject == "provider":
            assert names.provider(alias.name) == alias.id
            assert alias.id in names.provider_kinds
        elif alias.subject == "company":
            assert alias.id in names.provider_kinds
        elif alias.subject == "country":
            assert alias.id in {code for region in catalogs.terms.regions.values() for code in region.names}
        else:
            hosts = {row.provider for row in catalogs.serverless}
            assert (alias.id in hosts) if alias.subject == "host" else not alias.id


def test_the_written_folder_is_an_overlay(optimizer: Command, tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text(f"{SKYPILOT}\np5.48xlarge,H100,8.0,192,2048,{EIGHTY_GB},40,,us-east-1,a\n")
    arguments = ["catalog", "import", str(tmp_path / "vms.csv"), "--output", str(tmp_path / "own")]
    arguments += ["--source", "our-list", "--as-of", "2026-11-19", "--provider", "aws"]
    result = optimizer(*arguments, "--format", "json")
    assert json.loads(result.out)["offers"] == 1
    own = [offer for offer in load_catalogs(tmp_path / "own").offers if offer.source == "our-list"]
    assert [(offer.id, str(offer.price_usd_per_hour)) for offer in own] == [
        ("aws/us-east-1/p5.48xlarge/8xh100-sxm/on_demand", "40")
    ]
    (tmp_path / "vms.csv").write_text(f"{SKYPILOT}\ng6.xlarge,L4,1.0,4,16,,0.8,,us-east-1,a\n")
    joined = optimizer(*arguments)
    assert joined.out.startswith("1 offer imported\n")
    assert "offers.csv (2 rows)" in joined.out
    assert "offers.csv (1 row)" in optimizer(*arguments, "--replace").out
    (tmp_path / "own" / "offers.csv").write_text("nonsense\n")
    broken = optimizer(*arguments)
    assert (broken.code, "unknown column 'nonsense'" in broken.err) == (2, True)


def test_a_list_of_which_nothing_can_be_taken_is_bad_input(optimizer: Command, tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text(f"{SKYPILOT}\ng6.xlarge,L4,1.0,4,16,,0,,us-east-1,a\n")
    result = optimizer(
        *("catalog", "import", str(tmp_path / "vms.csv"), "--output", str(tmp_path / "own")),
        *("--source", "s", "--as-of", "2026-11-19", "--provider", "aws"),
    )
    assert result.code == 2
    assert "vms.csv:2: 0: price is not above zero (1 price)" in result.err
    assert not (tmp_path / "own").exists()
