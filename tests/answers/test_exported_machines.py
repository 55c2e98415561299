"""What files say of the machines that a plan buys: caps on prices, sharing, replicas that do not fill them."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support.exporting import exported, runs
from support.tables import SOURCES

from optimizer.answers.running.export.record import Run
from optimizer.answers.running.export.targets.clouds import dstack, skypilot
from optimizer.answers.running.export.targets.others import compose
from optimizer.answers.running.export.targets.scripts import script_of
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.report import PlanReport

Planned = Callable[[str], PlanReport]


@pytest.mark.parametrize("write", [dstack, skypilot])
def test_a_cap_on_prices_is_one_that_offers_on_demand_meet(
    planned: Planned, catalogs: Catalogs, write: Callable[..., dict[str, str]]
) -> None:
    def cap(run: Run) -> float | None:
        (text,) = write([run], catalogs.deploying).values()
        content = yaml.safe_load(text)
        found = content.get("max_price", content["resources"].get("max_hourly_cost"))
        return None if found is None else float(found)

    (on_demand, reserved), _ = runs(planned("office-hours"), catalogs)
    assert (on_demand.machine.pricing_term, reserved.machine.pricing_term) == ("on_demand", "reserved_1y")
    listed = float(on_demand.machine.price_usd_per_hour)
    assert cap(on_demand) == cap(reserved) == listed > float(reserved.machine.price_usd_per_hour)
    nobody_lists = replace(reserved.machine, rented_usd_per_hour=None, on_demand_usd_per_hour=None)
    assert cap(replace(reserved, machine=nobody_lists)) is None


def test_a_discount_lowers_no_cap(planned: Planned, catalogs: Catalogs, tmp_path: Path) -> None:
    row = "provider,gpu,pricing_term,percent,source,as_of\naws,l40s,*,20,ours,2026-11-01\n"
    (tmp_path / "discounts.csv").write_text(row, encoding="utf-8")
    (tmp_path / "sources.csv").write_text(SOURCES + "ours,Our contract,private,2026-11-01\n", encoding="utf-8")
    ours = load_catalogs(tmp_path)
    listed, discounted = (runs(planned("office-hours"), each)[0] for each in (catalogs, ours))
    for run, paid in zip(listed, discounted, strict=True):
        assert paid.machine.price_usd_per_hour < run.machine.price_usd_per_hour
        assert paid.machine.rented_usd_per_hour == run.machine.rented_usd_per_hour
        assert paid.machine.on_demand_usd_per_hour == run.machine.on_demand_usd_per_hour


def test_machines_that_are_bought_together_are_bought_once(planned: Planned, catalogs: Catalogs) -> None:
    found = exported(planned("two-shifts"), catalogs, "compose", "terraform", "vllm")
    assert len(found.runs) > 1
    assert all(run.machine.bought_with for run in found.runs)
    assert {path.split("/")[1] for path in found.files} == {"vllm.sh"}
    for each in found.left_out:
        assert "instances are also for" in each.reason, each
    assert {(each.what, each.target) for each in found.left_out} == {
        (run.name, target) for run in found.runs for target in ("compose", "terraform")
    }


def test_replicas_of_several_deployments_on_a_machine_take_gpus_and_ports_of_their_own(
    planned: Planned, catalogs: Catalogs
) -> None:
    ((run,), _) = runs(planned("chat-8b"), catalogs)
    machine = replace(run.machine, gpus=8, bought_with=("other",))
    taken: list[tuple[str, str]] = []
    for gpus, numbers in ((2, ("0", "1")), (1, ("4", "7"))):
        shared = replace(run, machine=machine, server=replace(run.server, gpus=gpus))
        (text,) = script_of("vllm")([shared], catalogs.deploying).values()
        assert "other" in text
        told = text.replace("exec vllm", "echo $CUDA_VISIBLE_DEVICES")
        for number in numbers:
            said = subprocess.run(["bash", "-s", number], input=told, text=True, check=True, capture_output=True).stdout
            taken.append((said.split()[0], said.split()[-1]))
        unnumbered = subprocess.run(["bash"], input=told, text=True, check=False, capture_output=True)
        assert unnumbered.returncode != 0
    assert taken == [("0,1", "8000"), ("2,3", "8002"), ("4", "8004"), ("7", "8007")]


@pytest.mark.parametrize(
    ("replicas", "machines", "said"),
    [
        (4, 2, "One machine of 2: run it on each."),
        (3, 2, "One machine of 2: run it on 1, and on one more start only replica-0."),
        (2, 1, None),
    ],
)
def test_no_more_replicas_are_started_than_planned(
    planned: Planned, catalogs: Catalogs, replicas: int, machines: int, said: str | None
) -> None:
    ((run,), _) = runs(planned("chat-8b"), catalogs)
    load = replace(run.load, schedule=(replace(run.load.schedule[0], replicas=replicas),))
    on_two = replace(run, machine=replace(run.machine, gpus=2), load=load, instances=machines)
    (text,) = compose([on_two], catalogs.deploying).values()
    assert (said in text) if said else ("One machine of" not in text)
    (script,) = script_of("vllm")([on_two], catalogs.deploying).values()
    assert (f"once for each, {replicas} on {machines} machines\n" in script) == (machines > 1)
