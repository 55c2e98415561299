"""A slice of the campaign of hostile files: whatever a reader is given, it reads or refuses in words."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from optimizer.base.errors import InputError
from optimizer.inputs.scenario.loading import load_scenario

FUZZ = ROOT / "benchmarks" / "fuzz"
INPUTS = 60
READERS = [
    *("scenario", "catalog", "prices", "trace", "profile"),
    *("baseline", "in-force", "config", "measurements", "results"),
]

pytestmark = pytest.mark.skipif(not FUZZ.is_dir(), reason="the campaign stands in the checkout")


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FUZZ.parent))
    return __import__("fuzz.readers").readers


@pytest.mark.parametrize("name", READERS)
def test_files_are_read_or_refused(name: str, readers: Any, tmp_path: Path) -> None:
    assert list(readers.READERS) == READERS
    found = list(readers.campaign([name], range(INPUTS), tmp_path))
    outcomes = {each.outcome for each in found}
    # how long a reader takes is for the campaign to judge, not for a machine that runs tests beside others
    assert {"read", "refused"} <= outcomes <= {"read", "refused", "slow"}


def test_the_same_number_is_the_same_input(readers: Any, tmp_path: Path) -> None:
    first, second = (readers.written("scenario", 7, tmp_path) for _ in range(2))
    assert first.read_bytes() == second.read_bytes()


def test_a_whole_number_of_hundreds_of_digits_is_no_rate(tmp_path: Path) -> None:
    """Found by the campaign: profile 23."""
    hours = "".join(f"{hour},{'1' + '0' * 400 if hour == 5 else 1}\n" for hour in range(168))
    (tmp_path / "p.csv").write_text(f"hour_of_week,requests_per_second\n{hours}")
    workload = "{name: c, model: llama-3.1-8b, input_tokens: 100, output_tokens: 50, demand: {profile: p.csv}}"
    (tmp_path / "s.yaml").write_text(f"name: s\nworkloads:\n  - {workload}\n")
    with pytest.raises(InputError, match=r"s.yaml:3: .*p.csv:7: the row has cells that are no numbers"):
        load_scenario(tmp_path / "s.yaml")


def test_a_heading_of_thousands_of_signs_is_not_quoted_whole(readers: Any, tmp_path: Path) -> None:
    """Found by the campaign: catalog 1725."""
    path = readers.written("catalog", 1725, tmp_path)
    path.write_text(f"{'x' * 50_000},id\n1,2\n")
    with pytest.raises(InputError) as caught:
        readers.READERS["catalog"].read(path)
    assert all(len(str(finding)) < 6000 for finding in caught.value.findings)


@pytest.mark.parametrize("pattern", ["re:(unclosed", "re:(.*)*x", "re:(a|a)*$", "re:((.+)+)+y"])
def test_an_expression_that_is_none_or_never_ends_is_refused(pattern: str, readers: Any, tmp_path: Path) -> None:
    """Found by the campaign: config 8088."""
    seeds = [json.loads(seed.content) for seed in readers.READERS["config"].seeds()]
    how = "modules_to_not_convert"
    config = next(each for each in seeds if isinstance(each.get("quantization_config", {}).get(how), list))
    config["quantization_config"][how].append(pattern)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match="its fields contradict each other"):
        readers.READERS["config"].read(path)


def test_our_own_rules_stand_where_the_campaign_takes_them_out(readers: Any) -> None:
    del readers
    for mutant in __import__("fuzz.checks").checks.price_mutants():
        compile(mutant.text, mutant.file, "exec")


def test_every_finding_of_verification_can_be_taken_out(readers: Any) -> None:
    del readers
    wrapped, every = __import__("fuzz.taken_out").taken_out.wrapped, dict[str, str]()
    for path in (ROOT / "optimizer" / "plan" / "verify").rglob("*.py"):
        wrapped(path, every)
    assert len(every) > 200
