"""A newer price list in one go: what is newer is taken, what moved is told, and the catalog's day moves along."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from support.command import Command
from support.tables import OFFERS

from optimizer.answers.catalog.importing import import_prices
from optimizer.answers.catalog.update import update_catalogs
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.loading import load_catalogs

KNOWN = "lambda,neocloud,us,gpu_1x_h100_sxm5,h100-sxm,1,none"
SOURCE = "litgpt-0.5.13,listed"


def newer(folder: Path, *rows: str) -> Path:
    path = folder / "list.csv"
    path.write_text(OFFERS + "".join(f"{row}\n" for row in rows))
    return path


def test_a_newer_price_is_taken_and_what_moved_is_told(tmp_path: Path) -> None:
    update = update_catalogs(newer(tmp_path, f"{KNOWN},4.79,on_demand,2026-12-01,{SOURCE}"), tmp_path / "own")
    (move,) = update.diff.moves
    assert (move.before, move.after) == (Decimal("4.29"), Decimal("4.79"))
    assert update.as_of == date(2026, 12, 1)
    known = load_catalogs(tmp_path / "own")
    assert known.as_of == date(2026, 12, 1)
    assert [o.price_usd_per_hour for o in known.offers if o.id == move.subject] == [Decimal("4.79")]


@pytest.mark.parametrize(("day", "told"), [("2031-11-25", True), ("2026-12-01", False)])
def test_a_day_far_ahead_is_to_be_looked_at(optimizer: Command, tmp_path: Path, day: str, told: bool) -> None:
    """One date of 2031 made every other price five years old, without a word."""
    path = newer(tmp_path, f"{KNOWN},4.79,on_demand,{day},{SOURCE}")
    result = optimizer("catalog", "update", str(path), "--output", str(tmp_path / "own"))
    assert result.code == 0
    assert ("every other price is older by as much: see whether a date slipped" in " ".join(result.out.split())) == told


def test_an_older_price_is_left_out_and_nothing_is_written(tmp_path: Path) -> None:
    update = update_catalogs(newer(tmp_path, f"{KNOWN},1.99,on_demand,2025-12-01,{SOURCE}"), tmp_path / "own")
    assert (update.older, update.files, update.diff.moves) == (1, {}, ())
    assert not (tmp_path / "own").exists()


def test_a_folder_of_lists_and_catalog_files_goes_in_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "lists"
    folder.mkdir()
    newer(folder, f"{KNOWN},4.79,on_demand,2026-12-01,{SOURCE}")
    header = "provider,item,unit,value,source,as_of,confidence\n"
    (folder / "ancillary_costs.csv").write_text(
        header + "aws,block storage gp3,USD/GB-month,0.09,litgpt-0.5.13,2026-12-02,listed\n"
    )
    update = update_catalogs(folder, tmp_path / "own")
    assert {move.table for move in update.diff.moves} == {"offers", "ancillary"}
    assert update.as_of == date(2026, 12, 2)


def test_a_row_that_says_its_kind_of_provider_is_taken_though_the_provider_has_two(tmp_path: Path) -> None:
    row = f"runpod,neocloud,global,secure-l40s,l40s,1,none,1.05,on_demand,2026-12-01,{SOURCE}"
    update = update_catalogs(newer(tmp_path, row), tmp_path / "own")
    assert [(move.subject, move.after) for move in update.diff.moves] == [
        ("runpod/global/secure-l40s/1xl40s/on_demand", Decimal("1.05"))
    ]


def test_what_a_list_does_not_say_can_be_said_as_the_refusal_says(optimizer: Command, tmp_path: Path) -> None:
    silent = newer(tmp_path, f"runpod,,global,secure-l40s,ADA,1,none,1.05,on_demand,2026-12-01,{SOURCE}")
    update = ("catalog", "update", str(silent), "--output", str(tmp_path / "own"))
    assert "--gpu ADA=ID" in optimizer(*update).err
    assert "--provider-kind" in optimizer(*update, "--gpu", "ADA=l40s").err
    assert optimizer(*update, "--gpu", "ADA=l40s", "--provider-kind", "neocloud").code == 0


def test_a_list_of_which_nothing_can_be_taken_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        update_catalogs(
            newer(tmp_path, f"acme,neocloud,us,box,no-such-gpu,1,none,1.0,on_demand,2026-12-01,{SOURCE}"),
            tmp_path / "own",
        )
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize("newest_first", [True, False])
def test_of_a_list_that_goes_back_in_time_the_newest_price_is_taken(newest_first: bool, tmp_path: Path) -> None:
    rows = [
        f"{KNOWN},{price},on_demand,{day},{SOURCE}"
        for price, day in (("3.50", "2026-12-01"), ("3.90", "2026-06-01"), ("3.80", "2026-01-01"))
    ]
    path = newer(tmp_path, *(rows if newest_first else reversed(rows)))
    update = update_catalogs(path, tmp_path / "own")
    assert [(move.after, update.as_of) for move in update.diff.moves] == [(Decimal("3.50"), date(2026, 12, 1))]
    (older,) = import_prices(path, load_catalogs()).left_out
    assert (older.reason, older.rows) == ("older than another price of it", 2)


@pytest.mark.parametrize(("price", "doubted"), [("12.80", False), ("42.90", True), ("1.40", True)])
def test_a_price_that_moved_several_times_is_to_be_looked_at(
    price: str, doubted: bool, optimizer: Command, tmp_path: Path
) -> None:
    """Of 4.29: a decimal point that slipped, or the price of a GPU where an instance's belongs."""
    path = newer(tmp_path, f"{KNOWN},{price},on_demand,2026-12-01,{SOURCE}")
    said = optimizer("catalog", "update", str(path), "--output", str(tmp_path / "own")).out
    assert ("1 of them by more than 3 times" in said) is doubted


@pytest.mark.parametrize(("sign", "called"), [(";", "semicolons"), ("\t", "tabs")])
def test_columns_that_another_sign_separates_are_named(
    sign: str, called: str, optimizer: Command, tmp_path: Path
) -> None:
    path = tmp_path / "list.csv"
    path.write_text(f'region{sign}price_usd_per_hour\nus{sign}"31,50"\n')
    result = optimizer("catalog", "update", str(path), "--output", str(tmp_path / "own"))
    assert result.code == 2
    assert f"its columns are separated by {called} (save it with commas" in result.err
