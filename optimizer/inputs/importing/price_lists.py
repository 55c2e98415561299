"""Other people's price lists read as rows of our own: formats recognized by their headings, cells kept as written."""

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.units import BYTES_PER_GIB, BYTES_PER_MIB
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.catalog.rows import read_rows

Cells = Mapping[str, str]

FIRST_ROW_LINE: Final = 2
UNITS_READ: Final[Mapping[str, frozenset[str]]] = {
    "currency": frozenset({"usd", "us$", "$", "us dollar", "us dollars"}),
    "price_unit": frozenset(
        {"usd", "usd/h", "usd/hour", "usd per hour", "$/h", "$/hour", "h", "hour", "hr", "hourly", "per hour", "hrs"}
        | {"instance", "per instance", "instance-hour", "per instance-hour", "1 hour"}
    ),
}
"""What a column whose name holds this may say."""
DISCOUNTED: Final = "spot"
MIB_PER_GIB: Final = BYTES_PER_GIB / BYTES_PER_MIB
IN_GB: Final = "SizeInMiB is below 1,024, which no GPU has: read as GB"


@dataclass(frozen=True)
class Listed:
    """One price as a file lists it.

    Attributes:
        line: Where it stands.
        cells: What the file says, under the names of our offers' columns; a blank cell is left out.
        gpu_name: The GPU as the file calls it; empty for an instance without one.
        gpu_memory_gb: Memory of one GPU in nominal GB, where the file says it.
        gpu_described: What else the file says of the GPU, such as its form factor.
        remark: What was read in another way than it is written; empty where nothing was.
    """

    line: int
    cells: Cells
    gpu_name: str
    gpu_memory_gb: float | None
    gpu_described: str = ""
    remark: str = ""


@dataclass(frozen=True)
class PriceFormat:
    """A kind of price list.

    Attributes:
        name: What users call it.
        headings: Columns by which it is known, all of them needed.
        read: One row's prices; several where a row holds an on-demand and a spot price.
    """

    name: str
    headings: tuple[str, ...]
    read: Callable[[int, Cells], Iterator[Listed]]


def read_price_list(path: Path, format_name: str | None = None) -> tuple[PriceFormat, tuple[Listed, ...]]:
    """The prices of a file in the order they stand, and the format they were read as.

    Args:
        path: A CSV file.
        format_name: One of `FORMATS`; recognized by the headings unless given.

    Raises:
        InputError: no such file, not CSV, a format's column is missing, or no format fits.
    """
    if format_name is not None:
        chosen = FORMATS[format_name]
        rows = read_rows(path, chosen.headings)
    else:
        rows = read_rows(path, ())
        chosen = _recognized(path, {str(name) for name in rows.columns})
    records = rows.to_dict(orient="records")
    _refuse_other_units(path, records)
    return chosen, tuple(
        listed
        for line, record in enumerate(records, start=FIRST_ROW_LINE)
        for listed in chosen.read(line, {str(name): str(cell).strip() for name, cell in record.items()})
    )


def _refuse_other_units(path: Path, records: Sequence[Mapping[Hashable, Any]]) -> None:
    """Whatever a column of currencies or units says must be what every price is read as: USD for an instance's hour."""
    findings = []
    for line, record in enumerate(records, start=FIRST_ROW_LINE):
        for name, cell in record.items():
            means = next((known for known in UNITS_READ if known in str(name).casefold()), None)
            said = str(cell).strip()
            if means and said and said.casefold() not in UNITS_READ[means]:
                problem = f"'{said}': prices are read in USD for an hour of the whole instance"
                findings.append(Finding(str(path), line, str(name), problem, "convert them first, and drop the column"))
    refuse(findings)


def _recognized(path: Path, headings: set[str]) -> PriceFormat:
    """The format all of whose columns are there; the formats share none that would make it two."""
    for known in FORMATS.values():
        if headings >= set(known.headings):
            return known
    formats = "; ".join(f"{known.name}: {', '.join(known.headings)}" for known in FORMATS.values())
    raise InputError([Finding(str(path), 1, "", "no known price list has these columns", formats)])


def _skypilot(line: int, cells: Cells) -> Iterator[Listed]:
    """A row of a SkyPilot catalog's vms.csv: an instance in a zone, with its on-demand and its spot price."""
    shape = {
        "region": cells["Region"],
        "instance_type": cells["InstanceType"],
        "gpu_count": cells["AcceleratorCount"],
        "vcpus": cells["vCPUs"],
        "ram_gb": cells["MemoryGiB"],
    }
    described, memory_gb, remark = _described(cells.get("GpuInfo", ""))
    for term, price in (("on_demand", cells["Price"]), (DISCOUNTED, cells["SpotPrice"])):
        if price or term == "on_demand":
            priced = shape | {"pricing_term": term, "price_usd_per_hour": price}
            yield Listed(line, _filled(priced), cells["AcceleratorName"], memory_gb, described, remark)


def _gpuhunt(line: int, cells: Cells) -> Iterator[Listed]:
    """A row of a gpuhunt catalog: an instance at a location, on demand or interruptible."""
    named = {
        "provider": cells.get("provider", ""),
        "region": cells["location"],
        "instance_type": cells["instance_name"],
        "gpu_count": cells["gpu_count"],
        "vcpus": cells.get("cpu", ""),
        "ram_gb": cells.get("memory", ""),
        "pricing_term": DISCOUNTED if cells["spot"].casefold() == "true" else "on_demand",
        "price_usd_per_hour": cells["price"],
    }
    memory = cells.get("gpu_memory", "")
    yield Listed(line, _filled(named), cells["gpu_name"], _number(memory))


def _plain(line: int, cells: Cells) -> Iterator[Listed]:
    """A row with our own columns; `gpu` may be any name that the catalog knows."""
    own = {name: cell for name, cell in cells.items() if name in Offer.model_fields and name != "gpu"}
    yield Listed(line, _filled(own), cells["gpu"], None)


def _filled(cells: Cells) -> dict[str, str]:
    return {name: cell for name, cell in cells.items() if cell}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@cache
def _described(gpu_info: str) -> tuple[str, float | None, str]:
    """Name and memory (nominal GB) of one GPU out of SkyPilot's description, and a remark on how the latter was read.

    Rows of RunPod state GB where the heading says MiB: no GPU has so little memory.
    """
    try:
        gpu: Any = ast.literal_eval(gpu_info)["Gpus"][0]
        stated = float(gpu["MemoryInfo"]["SizeInMiB"])
        name = str(gpu.get("Name", ""))
    except (ValueError, SyntaxError, TypeError, KeyError, IndexError, AttributeError, MemoryError, RecursionError):
        return "", None, ""
    if 0 < stated < MIB_PER_GIB:
        return name, stated, IN_GB
    return name, stated / MIB_PER_GIB, ""


FORMATS: Final[dict[str, PriceFormat]] = {
    "skypilot": PriceFormat(
        "skypilot",
        ("InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "Region", "Price", "SpotPrice"),
        _skypilot,
    ),
    "gpuhunt": PriceFormat(
        "gpuhunt", ("instance_name", "location", "price", "gpu_count", "gpu_name", "spot"), _gpuhunt
    ),
    "plain": PriceFormat(
        "plain", ("region", "instance_type", "gpu", "gpu_count", "price_usd_per_hour", "pricing_term"), _plain
    ),
}
"""Every price list that can be read, by the name given to `--as`."""
