"""Every reader with files that it reads, and what may come of a changed one: it is read, or refused in words."""

import json
import random
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final, Literal

from fuzz.mutation import as_json, mutated, mutated_table, mutated_text
from optimizer import load_catalogs
from optimizer.answers.catalog.imported import PriceListTerms
from optimizer.answers.catalog.importing import import_prices
from optimizer.answers.catalog.models import add_model
from optimizer.answers.gate.reading import read_baselines
from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.loading import TABLES
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.measurements import groups, load_measurements, observed
from optimizer.inputs.scenario.attachments import replicas_of_plan
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import load_scenario_file
from optimizer.inputs.scenario.tables import demand_of_trace

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SLOW_S: Final = 2.0
"""CPU seconds that no input of these sizes may take."""
FEW_ROWS: Final = 12

Outcome = Literal["read", "refused", "defect", "slow"]


@dataclass(frozen=True)
class Seed:
    """A file that is read, by name and content."""

    name: str
    content: bytes


OWN: Final = (
    Seed(
        "discounts.csv",
        b"provider,gpu,pricing_term,percent,private,source,as_of\n*,h100-sxm,*,10,true,mine,2026-01-01\n",
    ),
    Seed(
        "availability.csv",
        b"provider,region,gpu,pricing_term,max_instances,source,as_of\naws,*,*,spot,4,mine,2026-01-01\n",
    ),
    Seed(
        "owned.csv",
        b"id,site,gpu,gpu_count,instances,purchase_usd,amortisation_months,resale_share,pue,usd_per_kwh,"
        b"cooling_usd_per_month,staff_usd_per_month,space_usd_per_month,source,as_of\n"
        b"box,lab,h100-sxm,8,4,200000,36,0.1,1.3,0.1,0,0,0,mine,2026-01-01\n",
    ),
)
"""Tables of which none are shipped."""


@dataclass(frozen=True)
class Reader:
    """Whatever reads a kind of file.

    Attributes:
        seeds: Files that it reads.
        read: Reads a file in a folder of its own; raises InputError.
    """

    seeds: Callable[[], tuple[Seed, ...]]
    read: Callable[[Path], object]


@dataclass(frozen=True)
class Tried:
    """What became of one input; reader and number give the same input on every machine.

    Attributes:
        text: The traceback of a defect, the seconds of a slow one.
    """

    reader: str
    number: int
    outcome: Outcome
    text: str = ""


def tried(name: str, number: int, folder: Path) -> Tried:
    """One input made and read."""
    return judged(name, number, written(name, number, folder))


def judged(name: str, number: int, path: Path) -> Tried:
    """One input read and removed; what is raised beside InputError, or without file and problem, is a defect."""
    start = time.process_time()
    try:
        READERS[name].read(path)
        outcome, text = "read", ""
    except InputError as error:
        sound = error.findings and all(
            each.file and each.problem and len(str(each)) < 20_000 for each in error.findings
        )
        outcome, text = ("refused", "") if sound else ("defect", f"a finding without words: {error.findings[:1]}")
    except Exception:  # noqa: BLE001
        outcome, text = "defect", traceback.format_exc(limit=-4)
    used_s = time.process_time() - start
    path.unlink(missing_ok=True)
    if outcome != "defect" and used_s > SLOW_S:
        outcome, text = "slow", f"{used_s:.1f} CPU s"
    return Tried(name, number, outcome, text)  # type: ignore[arg-type]


def written(name: str, number: int, folder: Path) -> Path:
    """The input of that number as a file."""
    luck = random.Random(f"{name} {number}")
    seed = luck.choice(READERS[name].seeds())
    path = folder / seed.name
    path.write_bytes(changed(seed, luck))
    return path


def changed(seed: Seed, luck: random.Random) -> bytes:
    """A file made of another, by what its name says it is.

    Raises:
        ValueError, RecursionError, csv.Error: it was none of that kind.
    """
    if seed.name.endswith(".csv"):
        return mutated_table(seed.content, luck)
    if seed.name.endswith(".json") and luck.random() < 0.75:
        return as_json(mutated(json.loads(seed.content), luck))
    return mutated_text(seed.content, luck)


@cache
def catalogs() -> Catalogs:
    """The shipped ones."""
    return load_catalogs()


@cache
def _scenarios() -> tuple[Seed, ...]:
    files = sorted(shipped_dir("scenarios").glob("*.yaml"))
    contents = [load_scenario_file(file).document.content for file in files]
    as_yaml = [Seed(file.name, file.read_bytes()) for file in files]
    return (
        *as_yaml,
        *(Seed(f"{file.stem}.json", as_json(content)) for file, content in zip(files, contents, strict=True)),
    )


def _scenario(path: Path) -> object:
    return check_scenario(load_scenario_file(path, catalogs()).scenario, catalogs())


@cache
def _tables() -> tuple[Seed, ...]:
    """The first rows of each catalog file."""
    names = [name for table in TABLES.values() for name in table.files]
    files = [shipped_dir("catalogs") / name for name in names]
    heads = ((file.name, file.read_bytes().splitlines(keepends=True)) for file in files if file.is_file())
    return (*(Seed(name, b"".join(lines[:FEW_ROWS])) for name, lines in heads), *OWN)


def _table(path: Path) -> object:
    (table,) = [each for each in TABLES.values() if path.name in each.files]
    findings: list[Finding] = []
    table.read(path.parent, "own", findings)
    if findings:
        raise InputError(findings)
    return None


@cache
def _price_lists() -> tuple[Seed, ...]:
    plain = (
        b"provider,region,instance_type,gpu,gpu_count,price_usd_per_hour,pricing_term,currency\n"
        b"acme,r,i,L4,1,0.4,on_demand,USD\n"
    )
    sky = (
        b"InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Region,Price,SpotPrice,GpuInfo\n"
        b"g6,L4,1,2,8,r,0.4,0.1,\n"
    )
    hunt = b"instance_name,location,price,gpu_count,gpu_name,spot,gpu_memory\ng6,r,0.4,1,L4,False,24\n"
    return tuple(Seed(f"{at}.csv", content) for at, content in enumerate((plain, sky, hunt)))


def _price_list(path: Path) -> object:
    terms = PriceListTerms(source="acme", as_of=date(2026, 11, 20), provider="acme", provider_kind="neocloud")
    return import_prices(path, catalogs(), terms)


@cache
def _traces() -> tuple[Seed, ...]:
    rows = "".join(f"{at * 0.5},{100 + at % 7 * 50},{20 + at % 5 * 30}\n" for at in range(40))
    return (Seed("trace.csv", f"arrived_at_s,input_tokens,output_tokens\n{rows}".encode()),)


@cache
def _profiles() -> tuple[Seed, ...]:
    return (
        Seed(
            "p.csv",
            ("hour_of_week,requests_per_second\n" + "".join(f"{h},{1 + h % 24}\n" for h in range(168))).encode(),
        ),
    )


def _profile(path: Path) -> object:
    head = "name: s\nworkloads:\n  - {name: c, model: llama-3.1-8b, input_tokens: 100, output_tokens: 50, "
    scenario = path.with_name("profiled.yaml")
    scenario.write_text(f"{head}demand: {{profile: p.csv}}}}\n", encoding="utf-8")
    return load_scenario_file(scenario)


@cache
def _plans() -> tuple[Seed, ...]:
    files = (ROOT / "tests" / "golden" / "reports").glob("*.json")
    return tuple(Seed(file.name, file.read_bytes()) for file in sorted(files))


@cache
def _configs() -> tuple[Seed, ...]:
    stored = json.loads((ROOT / "tests" / "data" / "configs_of_today.json").read_text(encoding="utf-8"))
    return tuple(Seed("config.json", as_json(each["config"])) for each in stored.values())


@cache
def _measured() -> tuple[Seed, ...]:
    lines = (shipped_dir("catalogs") / "measurements.csv").read_bytes().splitlines(keepends=True)
    return tuple(Seed("m.csv", b"".join([lines[0], *lines[at : at + 5]])) for at in range(1, 200, 20))


def _measurements(path: Path) -> object:
    frame = load_measurements(path)
    return observed(frame), groups(frame)


@cache
def _results() -> tuple[Seed, ...]:
    files = sorted((ROOT / "tests" / "data" / "load_results").iterdir())
    return tuple(Seed(file.name, file.read_bytes()) for file in files)


READERS: Final[dict[str, Reader]] = {
    "scenario": Reader(_scenarios, _scenario),
    "catalog": Reader(_tables, _table),
    "prices": Reader(_price_lists, _price_list),
    "trace": Reader(_traces, demand_of_trace),
    "profile": Reader(_profiles, _profile),
    "baseline": Reader(_plans, lambda path: read_baselines([path])),
    "in-force": Reader(_plans, replicas_of_plan),
    "config": Reader(_configs, lambda path: add_model(path, catalogs(), name="mine")),
    "measurements": Reader(_measured, _measurements),
    "results": Reader(_results, read_results),
}
"""By the name under which their inputs are numbered."""


def campaign(names: list[str], numbers: Iterable[int], folder: Path) -> Iterator[Tried]:
    """Inputs of those numbers of each reader."""
    for name in names:
        for number in numbers:
            yield tried(name, number, folder)
