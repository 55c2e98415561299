"""Other people's price lists of hosted APIs, read as prices per million tokens: LiteLLM's and genai-prices' JSON."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Context, Decimal
from math import isfinite
from pathlib import Path
from typing import Any, Final

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import read_json
from optimizer.base.units import TOKENS_PER_MILLION

Entry = Mapping[str, Any]

INPUT, OUTPUT, CACHED, REQUEST = (
    "usd_per_million_input_tokens",
    "usd_per_million_output_tokens",
    "usd_per_million_cached_input_tokens",
    "usd_per_request",
)
"""Columns of our own rows."""
DIGITS: Final = Context(prec=12)
"""Enough for any price; floating-point dust of a multiplication ends behind it."""
TEXT_MODES: Final = ("chat", "completion", "responses")
"""LiteLLM's words for models that write text."""
LITELLM_PRICES: Final = {
    "input_cost_per_token": (INPUT, TOKENS_PER_MILLION),
    "output_cost_per_token": (OUTPUT, TOKENS_PER_MILLION),
    "cache_read_input_token_cost": (CACHED, TOKENS_PER_MILLION),
    "input_cost_per_request": (REQUEST, 1),
}
LITELLM_TIER: Final = re.compile(rf"(?:{'|'.join(LITELLM_PRICES)})_above_(\d+)k_tokens")
TOKENS_PER_K: Final = 1000
LITELLM_EXAMPLE: Final = "sample_spec"
"""An entry that explains the others."""
PUBLISHED_IN: Final = re.compile(r"^accounts/[^/]+/models/")
"""What Fireworks writes before a model's name."""
GENAI_PRICES: Final = {
    "input_mtok": (INPUT, 1),
    "output_mtok": (OUTPUT, 1),
    "cache_read_mtok": (CACHED, 1),
    "requests_kcount": (REQUEST, Decimal("0.001")),
}
NOT_TEXT: Final = "is no model that writes text"
GONE: Final = "no longer served on the day of the prices"
BY_THE_HOUR: Final = "price depends on the time of day"
THINKING_APART: Final = "answers and thinking are priced apart"
NO_HOST: Final = "the file does not say who hosts it"


@dataclass(frozen=True)
class ListedApi:
    """A hosted model as a file lists it.

    Attributes:
        provider: Who hosts it, as the file says.
        name: What the provider calls the model.
        prices_usd: By column of our own rows; what the file does not say is left out.
        max_prompt_tokens: Up to which the prices hold; None where the file does not say.
        note: What to know of the prices.
        problem: Why they cannot be taken in, and what it is about; empty where they can.
    """

    provider: str
    name: str
    prices_usd: Mapping[str, Decimal]
    max_prompt_tokens: int | None = None
    note: str = ""
    problem: tuple[str, str] | None = None


@dataclass(frozen=True)
class ApiFormat:
    """A kind of price list of hosted APIs, in JSON.

    Attributes:
        fits: Whether a file's content is of this kind.
        read: Its entries, as they hold on a day.
    """

    fits: Callable[[Any], bool]
    read: Callable[[Any, date], Iterator[ListedApi]]


def read_api_prices(path: Path, day: date, format_name: str | None = None) -> tuple[str, tuple[ListedApi, ...]]:
    """The hosted models of a file in the order they stand, and the format that they were read as.

    Args:
        path: A JSON file.
        day: Of the prices: of those that begin or end on a date, the ones that hold then are read.
        format_name: One of `API_FORMATS`; told by the content unless given.

    Raises:
        InputError: no such file, not JSON, or of no known kind.
    """
    content = read_json(path)
    for name, known in API_FORMATS.items():
        if format_name in (None, name) and known.fits(content):
            return name, tuple(known.read(content, day))
    wanted = f"is no list of {format_name}" if format_name else "no known price list of hosted APIs looks like this"
    hint = "litellm: model_prices_and_context_window.json; genai-prices: data.json, a list of providers with models"
    raise InputError([Finding(str(path), 0, "", wanted, hint)])


def _is_litellm(content: Any) -> bool:
    entries = content.values() if isinstance(content, dict) else ()
    return any(isinstance(entry, dict) and "litellm_provider" in entry for entry in entries)


def _litellm(content: Mapping[str, Any], day: date) -> Iterator[ListedApi]:
    """An entry a model."""
    for key, entry in content.items():
        if key != LITELLM_EXAMPLE and isinstance(entry, dict):
            provider = str(entry.get("litellm_provider") or "")
            name = PUBLISHED_IN.sub("", key.removeprefix(f"{provider}/"))
            yield _read(ListedApi(provider, name, {}), _litellm_entry, entry, day)


def _litellm_entry(listed: ListedApi, entry: Entry, day: date) -> ListedApi:
    tiers = (match for name, price in entry.items() if price is not None and (match := LITELLM_TIER.fullmatch(name)))
    priced = replace(listed, prices_usd=_prices(entry, LITELLM_PRICES), problem=_litellm_problem(entry, day))
    window = entry.get("max_input_tokens") or entry.get("max_tokens")
    return _up_to(priced, window, [int(match[1]) * TOKENS_PER_K for match in tiers])


def _litellm_problem(entry: Entry, day: date) -> tuple[str, str] | None:
    if (mode := entry.get("mode")) not in TEXT_MODES:
        return NOT_TEXT, str(mode)
    if (gone := entry.get("deprecation_date")) and date.fromisoformat(gone) < day:
        return GONE, gone
    thinking = entry.get("output_cost_per_reasoning_token")
    return (THINKING_APART, "") if thinking not in (None, entry.get("output_cost_per_token")) else None


def _is_genai(content: Any) -> bool:
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(each, dict) and "id" in each and isinstance(each.get("models"), list) for each in content)
    )


def _genai(content: list[Entry], day: date) -> Iterator[ListedApi]:
    """Models by provider."""
    for provider in content:
        for model in provider["models"]:
            name = str(model.get("id")) if isinstance(model, dict) else ""
            yield _read(ListedApi(str(provider["id"] or ""), name, {}), _genai_entry, model, day)


def _genai_entry(listed: ListedApi, model: Entry, day: date) -> ListedApi:
    """A model; of several prices the last one that holds, of tiers the first."""
    prices = model["prices"]
    if isinstance(prices, list):
        if any("start_time" in (each.get("constraint") or {}) for each in prices):
            return replace(listed, problem=(BY_THE_HOUR, ""))
        prices = _in_force(prices, day)
    tiered = {name: price for name, price in prices.items() if isinstance(price, dict)}
    base = prices | {name: price["base"] for name, price in tiered.items()}
    ends = [int(tier["start"]) for name, price in tiered.items() if name in GENAI_PRICES for tier in price["tiers"]]
    apart = base.get("output_reasoning_mtok") not in (None, base.get("output_mtok"))
    priced = replace(listed, prices_usd=_prices(base, GENAI_PRICES), problem=(THINKING_APART, "") if apart else None)
    return _up_to(priced, model.get("context_window"), ends)


def _in_force(conditional: list[Entry], day: date) -> Entry:
    """The last of the prices that have begun on the day; the first where none has."""
    begun = [each for each in conditional if str((each.get("constraint") or {}).get("start_date") or day) <= str(day)]
    prices: Entry = (begun or conditional[:1])[-1]["prices"]
    return prices


def _read(
    named: ListedApi, entry_of: Callable[[ListedApi, Entry, date], ListedApi], entry: Entry, day: date
) -> ListedApi:
    """An entry as its format is read; one that is written otherwise is a problem of its own, not of the file."""
    if not named.provider:
        return replace(named, problem=(NO_HOST, named.name))
    try:
        return entry_of(named, entry, day)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return replace(named, problem=("entry cannot be read", f"{named.provider}/{named.name}"))


def _prices(entry: Entry, known: Mapping[str, tuple[str, Any]]) -> dict[str, Decimal]:
    """Prices of an entry in USD under our own columns.

    Raises:
        ValueError: one is no number; left out, it would be a charge that nobody counts.
    """
    stated = {name: entry[name] for name in known if entry.get(name) is not None}
    if any(isinstance(price, bool) or not isfinite(price) for price in stated.values()):
        raise ValueError
    return {
        known[name][0]: DIGITS.create_decimal(Decimal(repr(price)) * known[name][1]).normalize(DIGITS)
        for name, price in stated.items()
    }


def _up_to(listed: ListedApi, window: object, ends: list[int]) -> ListedApi:
    """With the longest prompt at these prices: the window, or the length from which others hold.

    Raises:
        ValueError: the window is no whole number; left out, the prices would hold for prompts of any length.
    """
    if window and (isinstance(window, bool) or not isinstance(window, (int, float)) or window < 0 or window % 1):
        raise ValueError
    stated = int(window) if isinstance(window, (int, float)) and window else None
    if not ends or (stated is not None and stated <= min(ends)):
        return replace(listed, max_prompt_tokens=stated)
    note = f"longer prompts, up to {stated:,} tokens, have another price" if stated else ""
    return replace(listed, max_prompt_tokens=min(ends), note=note)


API_FORMATS: Final[Mapping[str, ApiFormat]] = {
    "litellm": ApiFormat(_is_litellm, _litellm),
    "genai-prices": ApiFormat(_is_genai, _genai),
}
"""Every price list of hosted APIs that can be read, by the name given to `--as`."""
