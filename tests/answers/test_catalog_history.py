"""A state of the catalogs has one hash, whatever its files look like; between two states every price move is told."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from support.command import Command
from support.tables import OFFERS

from optimizer.answers.catalog.diff import catalog_diff
from optimizer.answers.catalog.snapshot import Snapshot, snapshot, snapshot_named
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.report.export import as_json

COLUMNS = OFFERS.strip()
L4 = "acme,neocloud,us,box,l4,1,none,0.50,on_demand,2026-11-01,litgpt-0.5.13,listed"
T4 = "acme,neocloud,us,old,t4,1,none,0.20,on_demand,2026-11-01,litgpt-0.5.13,listed"
L40S = "acme,neocloud,us,new,l40s,1,none,0.90,on_demand,2026-11-01,litgpt-0.5.13,listed"


def folder(at: Path, *rows: str, columns: str = COLUMNS) -> Path:
    at.mkdir(exist_ok=True)
    (at / "offers.csv").write_text("\n".join((columns, *rows)) + "\n", encoding="utf-8")
    return at


def test_the_hash_depends_on_what_is_said_and_not_on_how(tmp_path: Path) -> None:
    plain = snapshot_named(str(folder(tmp_path / "a", L4, T4)))
    written_otherwise = [row.replace("0.50", "0.5").split(",") for row in (COLUMNS, T4, L4)]
    (tmp_path / "b").mkdir()
    with (tmp_path / "b" / "offers.csv").open("w", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([list(reversed(row)) for row in written_otherwise])
    again = snapshot_named(str(tmp_path / "b"))
    assert again.sha256 == plain.sha256
    assert again.files != plain.files
    dearer = snapshot_named(str(folder(tmp_path / "c", L4.replace("0.50", "0.51"), T4)))
    assert dearer.sha256 != plain.sha256


def test_only_the_table_that_says_something_else_has_another_hash(tmp_path: Path) -> None:
    shipped, own = snapshot(), snapshot(folder(tmp_path / "own", L4))
    assert [name for name in shipped.tables if shipped.tables[name] != own.tables[name]] == ["offers"]
    assert own.tables["offers"].rows == shipped.tables["offers"].rows + 1


def test_moves_gone_and_new_are_told_with_percent(tmp_path: Path) -> None:
    old = snapshot_named(str(folder(tmp_path / "old", L4, T4)))
    new = snapshot_named(str(folder(tmp_path / "new", L4.replace("0.50", "0.40"), L40S)))
    found = catalog_diff(old, new)
    (move,) = found.moves
    assert (move.subject, move.percent) == ("acme/us/box/1xl4/on_demand", pytest.approx(-20))
    assert found.gone == (("offers", "acme/us/old/1xt4/on_demand"),)
    assert found.new == (("offers", "acme/us/new/1xl40s/on_demand"),)
    assert list(found.tables) == ["offers"]
    assert found.one_sided == ()
    assert catalog_diff(old, old).moves == ()


def test_a_folder_for_catalogs_compares_as_laid_over_the_shipped_ones(tmp_path: Path) -> None:
    shipped, own = snapshot_named("shipped"), folder(tmp_path / "own", L4, T4)
    found = catalog_diff(shipped, snapshot_named(str(own)))
    assert found.new == (("offers", "acme/us/box/1xl4/on_demand"), ("offers", "acme/us/old/1xt4/on_demand"))
    assert (found.gone, found.moves, found.one_sided) == ((), (), ())
    assert found.compared == sum(map(len, shipped.prices.values()))
    assert snapshot_named(str(own)).sha256 == snapshot(own).sha256


def test_whole_catalogs_of_another_version_stand_alone(tmp_path: Path) -> None:
    copied = tmp_path / "before"
    shutil.copytree(shipped_dir("catalogs"), copied)
    (copied / "thinking.csv").unlink()
    folder(copied, L4)
    found = catalog_diff(snapshot_named(str(copied)), snapshot_named("shipped"))
    assert found.gone == (("offers", "acme/us/box/1xl4/on_demand"),)
    assert "thinking" in found.one_sided


def test_a_manifest_survives_a_round_trip_and_compares_as_its_folder(tmp_path: Path) -> None:
    taken = snapshot_named(str(folder(tmp_path / "old", L4)))
    (tmp_path / "old.json").write_text(as_json(taken))
    assert snapshot_named(str(tmp_path / "old.json")) == taken
    assert Snapshot.model_validate_json(as_json(taken)) == taken


def test_the_largest_move_comes_first_and_a_price_that_vanishes_has_no_percent(tmp_path: Path) -> None:
    columns = "provider,provider_model_name,usd_per_million_input_tokens,usd_per_request,unit,as_of,source,confidence"
    rows = ("a,m,1.0,0.5,u,2026-11-01,s,listed", "a,m,1.1,,u,2026-11-01,s,listed")
    for name, row in zip(("old", "new"), rows, strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "serverless.csv").write_text(f"{columns}\n{row}\n")
    found = catalog_diff(snapshot_named(str(tmp_path / "old")), snapshot_named(str(tmp_path / "new")))
    assert [(move.column, move.percent) for move in found.moves] == [
        ("usd_per_request", None),
        ("usd_per_million_input_tokens", pytest.approx(10)),
    ]


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read: No such file"), ("{}", "not a snapshot")])
def test_what_is_no_state_of_catalogs_is_refused(content: str | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=words):
        snapshot_named(str(path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no catalog file in this folder"):
        snapshot_named(str(tmp_path / "empty"))


def test_the_commands_answer_in_their_first_line(optimizer: Command, tmp_path: Path) -> None:
    before, after = folder(tmp_path / "old", L4, T4), folder(tmp_path / "new", L4.replace("0.50", "0.55"))
    manifest = tmp_path / "old.json"
    taken = optimizer("catalog", "snapshot", "--catalogs", str(before), "--output", str(manifest))
    assert taken.out.splitlines()[0] == json.loads(manifest.read_text())["sha256"]
    shown = optimizer("catalog", "diff", str(before), str(after))
    assert shown.out.startswith("1 price moved (1 up, 0 down, +10.0 % in the median), 1 gone, 0 new\n")
    assert max(map(len, shown.out.splitlines())) <= 120
    said = json.loads(optimizer("catalog", "diff", str(before), str(after), "--format", "json").out)
    assert said["moved"][0]["percent"] == 10.0
    assert optimizer("catalog", "diff", str(before), str(after), "--format", "markdown").out.startswith(
        "## 1 price moved"
    )
    assert "prices stand in both" in optimizer("catalog", "diff", str(manifest), "shipped").out
