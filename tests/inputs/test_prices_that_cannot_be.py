"""Money in catalogs and price lists of one's own: what cannot be is refused with its line, what is odd is said."""

import os
from decimal import Decimal
from pathlib import Path

import pytest
from support.command import Command

from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.usual_prices import is_odd, per_gpu_usd, usual_usd

OFFER = {
    "provider": "acme",
    "provider_kind": "neocloud",
    "region": "r1",
    "instance_type": "i1",
    "gpu": "h100-sxm",
    "gpu_count": "1",
    "link": "none",
    "price_usd_per_hour": "2",
    "pricing_term": "on_demand",
    "commitment_months": "0",
    "as_of": "2026-11-20",
    "source": "acme",
    "confidence": "listed",
}
SOURCES = "id,title,licence,as_of\nacme,Acme,none,2026-11-20\n"
DISCOUNT = "provider,gpu,pricing_term,percent,private,source,as_of\nacme,*,*,{percent},true,acme,{as_of}\n"
OWNED = (
    "id,site,gpu,gpu_count,instances,purchase_usd,amortisation_months,resale_share,pue,usd_per_kwh,"
    "cooling_usd_per_month,staff_usd_per_month,space_usd_per_month,source,as_of\n"
    "box,lab,h100-sxm,{gpu_count},4,{purchase_usd},1,0,1,0,0,0,0,acme,{as_of}\n"
)
ASKED = """\
name: acme-only
workloads:
  - {name: c, model: llama-3.1-8b, requests_per_second: 2, input_tokens: 512, output_tokens: 128}
policy: {providers: {allow: [acme]}, sellers: [unknown], engines: [vllm], precisions: [bf16]}
"""


def overlay(folder: Path, **files: str) -> str:
    """A folder of own catalogs with an offer of ours, and the files given."""
    cells = OFFER | {name: files.pop(name) for name in OFFER.keys() & files.keys()}
    contents = {"offers": f"{','.join(cells)}\n{','.join(cells.values())}\n", "sources": SOURCES} | files
    for name, content in contents.items():
        (folder / f"{name}.csv").write_text(content)
    return str(folder)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"price_usd_per_hour": "1e-9"}, "offers.csv:2: price_usd_per_hour: '1e-9': Input should be greater"),
        ({"price_usd_per_hour": "0.0009"}, "offers.csv:2: price_usd_per_hour: '0.0009': Input should be greater"),
        ({"price_usd_per_hour": "1e-400"}, "offers.csv:2: price_usd_per_hour: '1e-400': Input should be greater"),
        ({"price_usd_per_hour": "1e308"}, "offers.csv:2: price_usd_per_hour: '1e308': Input should be less"),
        ({"price_usd_per_hour": "100001"}, "offers.csv:2: price_usd_per_hour: '100001': Input should be less"),
        ({"gpu_count": "10001"}, "offers.csv:2: gpu_count: '10001': Input should be less"),
        ({"gpu_count": "9" * 30}, "offers.csv:2: gpu_count"),
        ({"commitment_months": "36"}, "offers.csv:2: commitment_months: '36': on_demand commits to nothing"),
        (
            {"commitment_months": "1", "pricing_term": "spot"},
            "offers.csv:2: commitment_months: '1': spot commits to nothing",
        ),
        ({"as_of": "2030-01-01"}, "offers.csv:2: as_of: 2030-01-01 is after the day of the catalogs, 2026-11-21"),
        ({"as_of": "9999-12-31"}, "offers.csv:2: as_of: 9999-12-31 is after the day"),
        ({"catalog": "as_of\n2000-01-01\n"}, "catalog.csv:2: as_of: 2000-01-01 is before the day of the shipped"),
        ({"discounts": DISCOUNT.format(percent="99.1", as_of="2026-01-01")}, "discounts.csv:2: percent: '99.1': Input"),
        ({"discounts": DISCOUNT.format(percent="9", as_of="2027-01-01")}, "discounts.csv:2: as_of: 2027-01-01"),
        (
            {"owned": OWNED.format(gpu_count=8, purchase_usd="1e400", as_of="2026-01-01")},
            "owned.csv:2: purchase_usd: '1e400': Input should be less",
        ),
        (
            {"owned": OWNED.format(gpu_count=8, purchase_usd="0.5", as_of="2026-01-01")},
            "owned.csv:2: purchase_usd: all of it is 0.000685 USD an hour, not from 0.001 to 100,000",
        ),
        (
            {"owned": OWNED.format(gpu_count=8, purchase_usd="1e11", as_of="2026-01-01")},
            "owned.csv:2: purchase_usd: all of it is 136986301.369863 USD an hour",
        ),
        ({"owned": OWNED.format(gpu_count=20_000, purchase_usd="9", as_of="2026-01-01")}, "owned.csv:2: gpu_count"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(
    cells: dict[str, str], said: str, optimizer: Command, tmp_path: Path
) -> None:
    result = optimizer("catalog", "check", "--catalogs", overlay(tmp_path, **cells))
    assert result.code == 2
    assert said in result.err


def test_a_newer_price_is_taken_with_the_day_it_is_of(tmp_path: Path) -> None:
    known = load_catalogs(Path(overlay(tmp_path, as_of="2026-12-24", catalog="as_of,note\n2026-12-24,\n")))
    assert str(known.as_of) == "2026-12-24"


@pytest.mark.parametrize(
    ("price", "discounts", "said"),
    [
        ("0.1", "", "acme asks 0.1 USD per GPU-hour of h100-sxm, others"),
        ("4", DISCOUNT.format(percent="50", as_of="1999-01-01"), "the price of acme for h100-sxm is over a year old"),
        ("2", DISCOUNT.format(percent="10", as_of="2026-06-01"), ""),
    ],
)
def test_what_is_odd_is_said_before_signing(
    price: str, discounts: str, said: str, optimizer: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    own = overlay(folder, price_usd_per_hour=price, **({"discounts": discounts} if discounts else {}))
    (tmp_path / "s.yaml").write_text(ASKED)
    result = optimizer("plan", str(tmp_path / "s.yaml"), "--catalogs", own, "--quiet")
    assert result.code == 0
    flat = " ".join(result.out.split())
    assert said in flat
    if not said:
        assert "have the price confirmed" not in flat
        assert "discount of" not in flat


def test_only_what_is_ten_times_off_is_odd() -> None:
    known = load_catalogs()
    offer = next(each for each in known.offers if each.gpu == "h100-sxm" and each.pricing_term == "on_demand")
    usual = usual_usd(offer, known.offers)
    assert usual is not None
    assert not is_odd(offer, per_gpu_usd(offer) * 10)
    assert is_odd(offer, per_gpu_usd(offer) * Decimal("10.1"))
    assert is_odd(offer, per_gpu_usd(offer) / Decimal("10.1"))
    # another sale of the same provider says nothing of its own price
    assert usual == usual_usd(offer.model_copy(update={"price_usd_per_hour": Decimal(999)}), known.offers)


@pytest.mark.parametrize("kind", ["dangling link", "folder", "pipe", "other case"])
def test_own_catalogs_that_cannot_be_read_never_mean_the_shipped_ones(
    kind: str, optimizer: Command, tmp_path: Path
) -> None:
    path = tmp_path / "offers.csv"
    (tmp_path / "sources.csv").write_text(SOURCES)
    if kind == "dangling link":
        path.symlink_to("nowhere")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        (tmp_path / "OFFERS.CSV").write_text("provider\n")
    result = optimizer("catalog", "check", "--catalogs", str(tmp_path))
    assert result.code == 2
    assert f"{tmp_path}/{'OFFERS.CSV: not a catalog file' if kind == 'other case' else 'offers.csv: '}" in result.err


TERMS = ("--source", "acme", "--provider-kind", "neocloud")
HEADINGS = "provider,provider_kind,region,instance_type,gpu,gpu_count,price_usd_per_hour,pricing_term"


@pytest.mark.parametrize(
    ("heading", "cell", "code", "said"),
    [
        ("currency", "EUR", 2, "prices.csv:2: currency: 'EUR': prices are read in USD for an hour"),
        ("price_unit", "per GPU", 2, "prices.csv:2: price_unit: 'per GPU': prices are read in USD"),
        ("currency", "usd", 0, ""),
        ("price_unit", "USD/h", 0, ""),
        ("currency", "", 0, ""),
    ],
)
def test_a_price_list_in_another_unit_is_refused(
    heading: str, cell: str, code: int, said: str, optimizer: Command, tmp_path: Path
) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(f"{HEADINGS},{heading}\nacme,neocloud,r1,i1,h100-sxm,8,16,on_demand,{cell}\n")
    options = (
        "--source",
        "acme",
        "--provider-kind",
        "neocloud",
        "--as-of",
        "2026-11-20",
        "--output",
        str(tmp_path / "own"),
    )
    result = optimizer("catalog", "import", str(path), *options)
    assert result.code == code
    assert said in result.err
    assert (tmp_path / "own" / "offers.csv").is_file() == (code == 0)


@pytest.mark.parametrize(
    ("count", "price", "said"),
    [
        ("1e40", "20", "more than 10,000 GPUs in an instance"),
        ("8", "1e-9", "price is not from 0.001 to 100,000 USD an hour"),
        ("8", "1e300", "price is not from 0.001 to 100,000 USD an hour"),
    ],
)
def test_a_price_list_with_figures_that_nobody_means_is_left_out(
    count: str, price: str, said: str, optimizer: Command, tmp_path: Path
) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(f"{HEADINGS}\nacme,neocloud,r1,i1,h100-sxm,{count},{price},on_demand\n")
    options = (
        "--source",
        "acme",
        "--provider-kind",
        "neocloud",
        "--as-of",
        "2026-11-20",
        "--output",
        str(tmp_path / "own"),
    )
    result = optimizer("catalog", "import", str(path), *options)
    assert result.code == 2
    assert said in result.err


def test_an_imported_list_brings_the_day_of_its_prices_and_never_takes_it_back(
    optimizer: Command, tmp_path: Path
) -> None:
    path, own = tmp_path / "prices.csv", str(tmp_path / "own")
    for region, day in (("r1", "2026-12-24"), ("r2", "2026-12-01")):
        path.write_text(f"{HEADINGS}\nacme,neocloud,{region},i1,h100-sxm,8,16,on_demand\n")
        assert optimizer("catalog", "import", str(path), *TERMS, "--as-of", day, "--output", own).code == 0
        assert str(load_catalogs(Path(own)).as_of) == "2026-12-24"
