"""Fixtures that many tests share: the shipped catalogs, the shipped scenarios' plans, the command, small markets.

A run plans each shipped scenario once. Its processes share plans by files in the run's own temporary folder: tests need
no mark to find theirs, and the run is the same under any distribution of the tests. `--dist worksteal` begins each
process with a stretch of its own: few wait for a plan that another makes, and none idles while tests are left.
"""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from optimizer import load_catalogs, load_scenario
from optimizer.answers.planning.optimize import optimize, optimized
from optimizer.base.clock import Clock
from optimizer.base.memory import Memory
from optimizer.cli import calls
from optimizer.cli.options import TIME_LIMIT_S
from optimizer.inputs.catalog.reading.csv_tables import CsvTable
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.price_free import PriceFree, differ_in_prices_only
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import PlanReport
from support.command import Command, run
from support.once import once
from support.paths import ROOT
from support.scenarios import proven

MOST_WORK = 28_000
"""Simplex iterations of a shipped scenario's plan and of all that stands beside it: enough for all of `ci-gate`."""

MOST_STORES = 4
"""Catalogs beside the shipped ones of which predictions and simulations are kept, those used last."""

GARBAGE = 20_000, 20, 20
"""Objects, then rounds, after which each generation is searched for garbage."""

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests of one case of a module side by side where it is marked `together`.

    What they share is then computed once, by the process that is dealt the case, and not by each that is dealt a test.
    """
    module_at: dict[Path, int] = {}
    case_at: dict[tuple[Path, object], int] = {}

    def place(numbered: tuple[int, pytest.Item]) -> tuple[int, int, int]:
        number, item = numbered
        begins, mark = module_at.setdefault(item.path, number), item.get_closest_marker("together")
        if mark is None:
            return begins, number, number
        case = item.callspec.params.get(mark.args[0]) if isinstance(item, pytest.Function) else None
        return begins, case_at.setdefault((item.path, case), number), number

    items[:] = [item for _, item in sorted(enumerate(items), key=place)]


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the search for garbage need not go through them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


@pytest.fixture(scope="session", autouse=True)
def _shipped_tables_are_read_once() -> Iterator[None]:
    """The shipped files stay as they are while tests run; commands and overlays read them hundreds of times."""
    shipped, read, known = shipped_dir("catalogs"), CsvTable.read, {}

    def remembered(table: CsvTable[Any], folder: Path, label: str, findings: list[Any]) -> dict[Any, Any]:
        if folder != shipped or findings:
            return read(table, folder, label, findings)
        if table.files not in known:
            rows = read(table, folder, label, findings)
            if findings:
                return rows
            known[table.files] = rows
        return dict(known[table.files])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CsvTable, "read", remembered)
        yield


@pytest.fixture(scope="session", autouse=True)
def _what_no_price_changes_is_found_once(catalogs: Catalogs) -> Iterator[None]:
    """What is predicted and simulated on the catalogs used last is kept from test to test, as `replan` keeps it.

    That an answer is the same without is tested where sweeps and replans share it.
    """
    of, shipped, stores = Inquiry.of, (catalogs, PriceFree()), list[tuple[Catalogs, PriceFree]]()

    def store_of(known: Catalogs) -> PriceFree:
        every = (shipped, *stores)
        same = next((each for each in every if each[0] is known), None)
        found = same or next((each for each in every if differ_in_prices_only(each[0], known)), (known, PriceFree()))
        if found is not shipped:
            stores[:] = [found, *(each for each in stores if each is not found)][:MOST_STORES]
        return found[1]

    def asked(
        scenario: Scenario, known: Catalogs, clock: Clock | None = None, kept: PriceFree | None = None
    ) -> Inquiry:
        return of(scenario, known, clock, store_of(known) if kept is None else kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inquiry, "of", asked)
        yield


@pytest.fixture(scope="session", autouse=True)
def _interrupts_are_heard() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would every process that a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def catalogs() -> Catalogs:
    shipped = load_catalogs()
    gc.freeze()
    return shipped


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run that its processes share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def planned(catalogs: Catalogs, run_folder: Path) -> Callable[[str], PlanReport]:
    """The plan of a shipped scenario, with the comparisons that its work allows, the same on every machine."""

    def plan(name: str) -> PlanReport:
        scenario = load_scenario(name)
        return once(run_folder / f"plan-{name}.sqlite", lambda: optimize(scenario, catalogs, work_limit=MOST_WORK))

    return lru_cache(maxsize=None)(plan)


@pytest.fixture(scope="session")
def known(catalogs: Catalogs) -> Callable[[str], Catalogs]:
    """The catalogs of a shipped scenario: with the example of one's own terms where there is one."""

    def laid_over(name: str) -> Catalogs:
        overlay = shipped_dir("scenarios") / "overlays" / name
        return load_catalogs(overlay) if overlay.is_dir() else catalogs

    return lru_cache(maxsize=None)(laid_over)


@pytest.fixture(scope="session")
def asked(known: Callable[[str], Catalogs]) -> Callable[[str], Inquiry]:
    """The inquiry of a shipped scenario."""
    return lru_cache(maxsize=None)(lambda name: Inquiry.of(load_scenario(name), known(name)))


@pytest.fixture(scope="session")
def fleet(asked: Callable[[str], Inquiry], run_folder: Path) -> Callable[[str], PlannedFleet]:
    """What the plan of a shipped scenario buys and runs, without what a report compares it with."""

    def bought(name: str) -> PlannedFleet:
        return once(run_folder / f"fleet-{name}.sqlite", lambda: proven(asked(name)))

    return lru_cache(maxsize=None)(bought)


@dataclass(frozen=True)
class RememberedPlan:
    """The report of an earlier plan; the question behind it is solved where a command asks for it."""

    report: PlanReport
    solve: Callable[[], Answer]

    @property
    def answer(self) -> Answer:
        return self.solve()


@pytest.fixture
def optimizer(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    catalogs: Catalogs,
    planned: Callable[[str], PlanReport],
) -> Command:
    """The `optimizer` command; the shipped catalogs and the plans of shipped scenarios are those of the run."""
    read = calls.load_catalogs
    shipped = {file.stem for file in shipped_dir("scenarios").glob("*.yaml")}

    def is_shipped(scenario: Scenario, laid_over: Catalogs) -> bool:
        return scenario.name in shipped and scenario == load_scenario(scenario.name) and laid_over == catalogs

    def remembered(scenario: Scenario, laid_over: Catalogs, **options: Any) -> PlanReport:
        asked_for = options.get("work_limit") or options.get("max_memory_gb")
        limited = options.get("time_limit_s") not in (None, TIME_LIMIT_S) or asked_for
        plain = not limited and not options.get("thorough")
        return (
            planned(scenario.name)
            if plain and is_shipped(scenario, laid_over)
            else optimize(scenario, laid_over, **options)
        )

    def remembered_whole(scenario: Scenario, laid_over: Catalogs, clock: Clock, *told: Any, **options: Any) -> Any:
        plain = clock.time_limit_s == TIME_LIMIT_S and clock.work_limit is None and not options.get("thorough")
        default_memory = clock.memory is not None and clock.memory.limit_bytes == Memory().limit_bytes
        if plain and default_memory and is_shipped(scenario, laid_over):
            return RememberedPlan(planned(scenario.name), lambda: optimized(scenario, laid_over, clock).answer)
        return optimized(scenario, laid_over, clock, *told, **options)

    monkeypatch.setattr(calls, "load_catalogs", lambda overlay=None: read(overlay) if overlay else catalogs)
    monkeypatch.setattr(calls, "optimize", remembered)
    monkeypatch.setattr(calls, "optimized", remembered_whole)
    return lambda *arguments: run(monkeypatch, capsys, *map(str, arguments))


@pytest.fixture(scope="session")
def market_of(catalogs: Catalogs) -> Callable[..., Catalogs]:
    """The catalogs with the offers of a few providers: enough to choose from, fast to solve many times."""
    return lambda *providers: replace(catalogs, offers=tuple(o for o in catalogs.offers if o.provider in providers))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """A module of the benchmarks: they are scripts, no package."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module


@pytest.fixture
def chat() -> Scenario:
    return load_scenario("chat-8b")
