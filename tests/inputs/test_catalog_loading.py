"""Own catalog files lie over the shipped ones, and every problem in them is named with file, line and field."""

from decimal import Decimal
from pathlib import Path

import pytest
from support.tables import OFFERS, SOURCES

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.checks import check_rows
from optimizer.inputs.catalog.loading import TABLES, load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir

OFFER = "acme,neocloud,us,box,l4,1,none,0.5,on_demand,2026-11-01,litgpt-0.5.13,listed"
SHIPPED_OFFER_ID = "aws/us-east-1/p5.48xlarge/8xh100-sxm/on_demand"


def problems(folder: Path, **files: str) -> list[Finding]:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_catalogs(folder)
    return list(caught.value.findings)


def offers(*rows: str) -> str:
    return OFFERS + "\n".join(rows) + "\n"


def price(catalogs: Catalogs, offer_id: str) -> list[Decimal]:
    return [offer.price_usd_per_hour for offer in catalogs.offers if offer.id == offer_id]


def test_own_rows_replace_shipped_rows_of_the_same_key_and_join_the_others(tmp_path: Path) -> None:
    own = "aws,hyperscaler,us-east-1,p5.48xlarge,h100-sxm,8,nvlink,40,on_demand,2026-11-01,litgpt-0.5.13,listed"
    (tmp_path / "offers.csv").write_text(offers(own, OFFER))
    shipped, laid_over = load_catalogs(), load_catalogs(tmp_path)
    assert price(shipped, SHIPPED_OFFER_ID) == [Decimal("55.04")]
    assert price(laid_over, SHIPPED_OFFER_ID) == [Decimal("40")]
    assert len(laid_over.offers) == len(shipped.offers) + 1
    assert [offer.id for offer in laid_over.offers] == sorted(offer.id for offer in laid_over.offers)


def test_an_own_seed_row_replaces_a_listed_one(tmp_path: Path) -> None:
    own = "aws,hyperscaler,us-east-1,p5.48xlarge,h100-sxm,8,nvlink,98.32,on_demand,2025-03-01,litgpt-0.5.13,seed"
    (tmp_path / "offers_seed.csv").write_text(offers(own))
    assert price(load_catalogs(tmp_path), SHIPPED_OFFER_ID) == [Decimal("98.32")]


def test_one_own_figure_changes_one_number_of_a_gpu(tmp_path: Path) -> None:
    text = "gpu,figure,value,unit,source,as_of,status\nl4,usable_memory_mib,22000,MiB,driver-listings,2026-11-01,read\n"
    (tmp_path / "gpu_figures.csv").write_text(text)
    before, after = load_catalogs().gpus["l4"], load_catalogs(tmp_path).gpus["l4"]
    assert after == before.model_copy(update={"usable_memory_mib": 22000.0})


def test_own_sources_may_be_named_by_own_rows(tmp_path: Path) -> None:
    (tmp_path / "offers.csv").write_text(offers(OFFER.replace("litgpt-0.5.13", "our-contract")))
    with pytest.raises(InputError, match="unknown 'our-contract'"):
        load_catalogs(tmp_path)
    (tmp_path / "sources.csv").write_text(SOURCES + "our-contract,Our contract,private,2026-11-01\n")
    assert "our-contract" in load_catalogs(tmp_path).sources


@pytest.mark.parametrize(
    ("row", "field", "problem"),
    [
        (OFFER.replace(",0.5,", ",0,"), "price_usd_per_hour", "greater than or equal to 0.001"),
        (OFFER.replace(",0.5,", ",NaN,"), "price_usd_per_hour", "finite"),
        (OFFER.replace(",0.5,", ",cheap,"), "price_usd_per_hour", "decimal"),
        (OFFER.replace(",0.5,", ",,"), "price_usd_per_hour", "is blank"),
        (OFFER.replace(",1,none", ",-1,none"), "gpu_count", "greater than or equal to 1"),
        (OFFER.replace("on_demand", "monthly"), "pricing_term", "on_demand"),
        (OFFER.replace("2026-11-01", "yesterday"), "as_of", "date"),
        (OFFER.replace(",l4,", ",l5,"), "gpu", "unknown 'l5'"),
        (OFFER.replace("litgpt-0.5.13", "hearsay"), "source", "unknown 'hearsay'"),
        (OFFER + ",more", "", "13 cells under 12 columns"),
    ],
)
def test_a_bad_row_is_named_with_its_line_and_field(tmp_path: Path, row: str, field: str, problem: str) -> None:
    good = OFFER.replace("box", "other")
    (finding,) = problems(tmp_path, offers=offers(good, row))
    assert (finding.file, finding.line, finding.field) == (f"{tmp_path}/offers.csv", 3, field)
    assert problem in finding.problem


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    bad_offers = offers(OFFER.replace(",0.5,", ",-1,").replace("neocloud", "cloud"), OFFER.replace(",l4,", ",,"))
    found = problems(tmp_path, offers=bad_offers, sources=SOURCES + "x,X,none,never\n")
    assert [(Path(finding.file).name, finding.line, finding.field) for finding in found] == [
        ("offers.csv", 2, "price_usd_per_hour"),
        ("offers.csv", 2, "provider_kind"),
        ("offers.csv", 3, "gpu"),
        ("sources.csv", 2, "as_of"),
    ]


def test_lines_are_counted_through_cells_of_several_lines(tmp_path: Path) -> None:
    first = 'a,"a title\nover two lines",none,2026-01-01'
    (finding,) = problems(tmp_path, sources=f"{SOURCES}{first}\nb,B,none,never\n")
    assert finding.line == 4


def test_a_key_may_stand_once_in_a_folder(tmp_path: Path) -> None:
    (finding,) = problems(tmp_path, offers=offers(OFFER), offers_seed=offers(OFFER.replace("listed", "seed")))
    assert (finding.file, finding.line) == (f"{tmp_path}/offers_seed.csv", 2)
    assert f"{tmp_path}/offers.csv:2" in finding.problem


def test_columns_are_checked_by_name(tmp_path: Path) -> None:
    found = problems(tmp_path, sources="id,titel,licence,licence\nx,X,none,none\n")
    assert [(finding.line, finding.field, finding.problem) for finding in found] == [
        (1, "as_of", "this column is missing"),
        (1, "licence", "this column stands twice"),
        (1, "titel", "unknown column 'titel'"),
        (1, "title", "this column is missing"),
    ]
    assert found[2].hint == "did you mean title?"


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "the file is empty"), (b'id,title,licence,as_of\nx,"X', "broken CSV"), (b"id\xff", "not UTF-8")],
)
def test_files_that_are_no_csv_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "sources.csv").write_bytes(content)
    (finding, *_) = problems(tmp_path)
    assert problem in finding.problem


@pytest.mark.parametrize(
    ("name", "text", "field", "problem"),
    [
        ("model_aliases", "hf_id,model,relation\nme/mine,llama-9,fine_tune\n", "model", "unknown 'llama-9'"),
        (
            "quality",
            "model,scheme,benchmark,benchmark_kind,recovery_share,tool,source,as_of\n"
            "llama-3.1-8b,int5,MMLU,single,0.9,x,litgpt-0.5.13,2026-01-01\n",
            "scheme",
            "unknown 'int5'",
        ),
        (
            "kernel_support",
            "scheme,architecture,support,source,as_of\nfp8,hoper,native,litgpt-0.5.13,2026-01-01\n",
            "architecture",
            "no GPU has the architecture 'hoper'",
        ),
        (
            "gpu_figures",
            "gpu,figure,value,unit,source,as_of,status\nl4,tdp_w,72,kW,litgpt-0.5.13,2026-01-01,read\n",
            "unit",
            "tdp_w is written in W, not in 'kW'",
        ),
        (
            "gpu_figures",
            "gpu,figure,value,unit,source,as_of,status\nl4,tdp,72,W,litgpt-0.5.13,2026-01-01,read\n",
            "figure",
            "unknown figure 'tdp'",
        ),
        (
            "gpu_figures",
            "gpu,figure,value,unit,source,as_of,status\nl4,tdp_w,hot,W,litgpt-0.5.13,2026-01-01,read\n",
            "value",
            "tdp_w 'hot'",
        ),
        (
            "gpus",
            "id,vendor,name,architecture,link\nh300,nvidia,H300,hopper,nvlink\n",
            "memory_gb",
            "h300 has no memory_gb",
        ),
    ],
)
def test_references_and_figures_must_lead_somewhere(
    tmp_path: Path, name: str, text: str, field: str, problem: str
) -> None:
    found = problems(tmp_path, **{name: text})
    (finding,) = (finding for finding in found if finding.field == field)
    assert (finding.file, finding.line) == (f"{tmp_path}/{name}.csv", 2)
    assert problem in finding.problem


def test_an_overlay_must_be_a_folder_with_a_known_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such folder.*offers\.csv"):
        load_catalogs(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no catalog file.*offers\.csv"):
        load_catalogs(tmp_path)
    found = problems(tmp_path, offers=offers(OFFER), ofers=offers(OFFER))
    assert [(Path(finding.file).name, finding.problem) for finding in found] == [("ofers.csv", "not a catalog file")]
    assert found[0].hint.startswith("did you mean offers.csv")


def test_a_shipped_file_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in shipped_dir("catalogs").glob("*.csv"):
        if file.name != "engines.csv":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr("optimizer.inputs.catalog.loading.shipped_dir", lambda _: tmp_path)
    with pytest.raises(InputError, match=r"catalogs/engines\.csv: this shipped file is missing"):
        load_catalogs()


def test_the_shipped_folder_holds_every_table_and_no_other_file() -> None:
    names = {file.name for file in shipped_dir("catalogs").iterdir()}
    shipped = {name for table in TABLES.values() if not table.private for name in table.files}
    assert names == shipped | {"README.md", "measurements.csv"}


def test_a_package_reads_what_it_carries_before_what_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("optimizer.inputs.catalog.shipped.PACKAGE", tmp_path / "package")
    assert shipped_dir("catalogs") == tmp_path / "catalogs"
    (tmp_path / "package" / "shipped" / "catalogs").mkdir(parents=True)
    assert shipped_dir("catalogs") == tmp_path / "package" / "shipped" / "catalogs"


def test_loading_twice_gives_the_same_catalogs() -> None:
    assert load_catalogs() == load_catalogs()


def test_catalog_check_names_spot_above_on_demand_outliers_and_unknown_links(tmp_path: Path) -> None:
    dear_spot = OFFER.replace("on_demand", "spot").replace(",0.5,", ",0.6,")
    absurd = OFFER.replace("box", "gold").replace(",0.5,", ",99,")
    unlinked = OFFER.replace("box", "pair").replace(",1,none,", ",2,,")
    (tmp_path / "offers.csv").write_text(offers(OFFER, dear_spot, absurd, unlinked))
    named = {(found.severity, found.check, found.subject) for found in check_rows(load_catalogs(tmp_path))}
    assert ("error", "discounts", "acme/us/box/1xl4/spot") in named
    assert ("warning", "price range", "acme/us/gold/1xl4/on_demand") in named
    assert ("warning", "links", "acme/us/pair/2xl4/on_demand") in named


def test_catalog_check_names_spellings_zero_prices_and_prices_too_old(tmp_path: Path) -> None:
    spelled = OFFER.replace("box", "b_o_x")
    lonely = OFFER.replace(",us,box,l4,", ",us,box,h200-nvl,").replace(",0.5,", ",0.01,")
    old = OFFER.replace("box", "old").replace("2026-11-01", "2025-11-01")
    (tmp_path / "offers.csv").write_text(offers(OFFER, spelled, lonely, old))
    (tmp_path / "serverless.csv").write_text(
        "provider,provider_model_name,usd_per_million_input_tokens,unit,as_of,source,confidence\n"
        "acme,free,0,million tokens,2026-11-01,litgpt-0.5.13,listed\n"
    )
    known = load_catalogs(tmp_path)
    named = {(found.severity, found.check, found.subject) for found in check_rows(known)}
    assert ("warning", "duplicates", "acme/us/b_o_x/1xl4/on_demand") in named
    assert ("warning", "price range", "acme/us/box/1xh200-nvl/on_demand") in named
    assert ("warning", "zero price", "acme/free") in named
    assert ("note", "prices by GPU", "l4") in named
    too_old = {found.subject for found in check_rows(known, max_age_days=365) if found.severity == "error"}
    assert "acme/us/old/1xl4/on_demand" in too_old
    assert "acme/us/box/1xl4/on_demand" not in too_old
