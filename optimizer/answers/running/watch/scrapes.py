"""What servers said at one moment or at two: files, folders with a file for each replica, standard input, URLs."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from optimizer.answers.running.watch.exposition import Scrape, read_exposition
from optimizer.base.errors import Finding, InputError
from optimizer.base.files import STANDARD_INPUT, name_of, read_text

SCHEMES: Final = ("http://", "https://")
PATIENCE_S: Final = 10.0
MOST_BYTES: Final = 64_000_000
OPTION: Final = "--metrics"

Replicas = Mapping[str, Scrape]
"""What was read at one moment, by URL or by the name of its file in a folder; a file alone has no name."""


@dataclass(frozen=True)
class Observed:
    """What was read.

    Attributes:
        later: The only moment, or the later of two.
        earlier: The earlier one; None where there is one, which tells of everything since the servers started.
        seconds: Between the two; None where nobody knows.
    """

    later: Replicas
    earlier: Replicas | None = None
    seconds: float | None = None


def observe(sources: Sequence[str], interval_s: float | None = None) -> Observed:
    """Reads every source, URLs twice where an interval is given.

    Args:
        sources: URLs, one a replica; or one file, or two, the earlier first. A folder holds a file for each replica.
        interval_s: Seconds between two reads of URLs, or between two files that bear no time stamps.

    Raises:
        InputError: nothing is there, it is no metrics, or the sources do not go together.
    """
    urls = [source for source in sources if source.startswith(SCHEMES)]
    if urls and len(urls) < len(sources):
        raise InputError([Finding(OPTION, 0, "", "URLs and files do not go together", "save the files, or read URLs")])
    if urls:
        return _observe_urls(list(dict.fromkeys(urls)), interval_s)
    if len(sources) not in (1, 2) or sources.count(str(STANDARD_INPUT)) > 1:
        hint = "files are one moment or two, the earlier first; put the files of several replicas into a folder"
        raise InputError([Finding(OPTION, 0, "", f"{len(sources)} files", hint)])
    *first, last = [_read_path(source) for source in sources]
    if not first:
        if interval_s is not None:
            hint = "give two, the earlier first"
            raise InputError([Finding("--interval-s", 0, "", "one file is one moment", hint)])
        return Observed(last)
    return Observed(last, first[0], _seconds_between(first[0], last) or interval_s)


def _observe_urls(urls: Sequence[str], interval_s: float | None) -> Observed:
    if interval_s is None:
        return Observed(_read_urls(urls))
    started_s = time.monotonic()
    earlier = _read_urls(urls)
    time.sleep(interval_s)
    again_s = time.monotonic()
    return Observed(_read_urls(urls), earlier, again_s - started_s)


def _seconds_between(earlier: Replicas, later: Replicas) -> float | None:
    """By the samples' own time stamps; None where a file has none, or where they run backwards.

    Raises:
        InputError: the second is not the later one.
    """
    times = [[scrape.at_s for scrape in replicas.values()] for replicas in (earlier, later)]
    first, last = ([at_s for at_s in each if at_s is not None] for each in times)
    if len(first) < len(times[0]) or len(last) < len(times[1]):
        return None
    seconds = max(last) - max(first)
    if seconds <= 0:
        raise InputError([Finding(OPTION, 0, "", "the second is not later than the first", "give the earlier first")])
    return seconds


def _read_urls(urls: Sequence[str]) -> Replicas:
    return {url: read_exposition(_fetched(url), url) for url in urls}


def _fetched(url: str) -> str:
    try:
        with urlopen(url, timeout=PATIENCE_S) as answer:
            content: bytes = answer.read(MOST_BYTES + 1)
            text = content.decode("utf-8")
    except (OSError, ValueError, HTTPException) as error:
        raise InputError([Finding(url, 0, "", f"cannot be read: {error}", "is it the server's /metrics?")]) from error
    if len(content) > MOST_BYTES:
        raise InputError([Finding(url, 0, "", f"more than {MOST_BYTES:,} bytes: not what one server says")])
    return text


def _read_path(source: str) -> Replicas:
    """A file, every file of a folder, or standard input."""
    path = Path(source)
    if not path.is_dir():
        return {"": _read_file(path)}
    files = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
    if not files:
        raise InputError([Finding(source, 0, "", "no file in this folder", "a file for each replica")])
    return {each.name: _read_file(each) for each in files}


def _read_file(path: Path) -> Scrape:
    return read_exposition(read_text(path, MOST_BYTES), name_of(path))
