"""One input made from another: values, fields, rows, lines and bytes changed as people, tools and enemies do."""

import copy
import csv
import io
import json
import random
from collections.abc import Callable
from typing import Any, Final

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2, 168, 10_001, 1_000_000, 10**12, 10**30, 10**400, 1e-9, 0.1, 1e308, -1e308),
    *(
        float("nan"),
        float("inf"),
        "",
        " ",
        "0",
        "1",
        "-0",
        "1e400",
        "nan",
        "0x1F",
        "1:40",
        "017",
        "1_000",
        "yes",
        "null",
    ),
    *("*", "../../etc/passwd", "/dev/zero", "-", ".", "a" * 5000, "9" * 5000, "2030-01-01", "9999-12-31", "2000-02-30"),
    *(
        "=1+1",
        "@everyone",
        "<script>",
        "`",
        "|",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\u200b",
        "\ud800",
        "\u0430cme",
        "😀",
        "\n",
    ),
    *([], {}, [[]], [None], [{}], {"": 0}, {"a[b": 1}, ["x"] * 2000, [0] * 5, {"min": 2, "max": 1}),
)
"""Values that some reader somewhere took for another, or fell over."""
BYTES: Final = (
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b'"',
    b",",
    b":",
    b"{",
    b"[",
    b"&a ",
    b"*a ",
    b"!!int ",
)
DEEP: Final = 3000
HUGE: Final = 1e300


def mutated(content: Any, luck: random.Random) -> Any:
    """JSON content with one to four changes, most often one."""
    content = copy.deepcopy(content)
    for _ in range(luck.choice((1, 1, 1, 2, 4))):
        content = _changed(content, luck)
    return content


def mutated_text(text: bytes, luck: random.Random) -> bytes:
    """A file whose lines or bytes were cut, doubled, swapped or overwritten."""
    lines = text.splitlines(keepends=True) or [b""]
    at = luck.randrange(len(lines))
    match luck.randrange(8):
        case 0:
            return text[: luck.randrange(len(text) + 1)]
        case 1:
            return b"".join([*lines[:at], *lines[at + 1 :]])
        case 2:
            return b"".join([*lines[: at + 1], *lines[at:]])
        case 3:
            other = luck.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
            return b"".join(lines)
        case 4:
            return text.replace(b"\n", luck.choice((b"\r\n", b"\r", b"\n\n")))
        case 5:
            depth = luck.choice((50, 150, DEEP))
            return text + luck.choice((b"\nx: " + b"[" * depth + b"]" * depth, b"[" * depth, b"{a: " * depth))
        case _:
            place = luck.randrange(len(text) + 1)
            return text[:place] + luck.choice(BYTES) + text[place + luck.randrange(3) :]


def mutated_table(text: bytes, luck: random.Random) -> bytes:
    """A CSV file with one to four cells, columns or rows changed; one time in four its bytes."""
    if luck.random() < 0.25:
        return mutated_text(text, luck)
    rows = list(csv.reader(io.StringIO(text.decode())))
    for _ in range(luck.choice((1, 1, 1, 2, 4))):
        if not any(rows):
            break
        row, column = luck.randrange(len(rows)), luck.randrange(max(map(len, rows)))
        match luck.randrange(8):
            case 0:
                rows = [[cell for at, cell in enumerate(cells) if at != column] for cells in rows]
            case 1:
                rows = [[*cells, cells[min(column, len(cells) - 1)] if cells else ""] for cells in rows]
            case 2:
                rows.insert(row, list(rows[row]))
            case 3:
                rows[row] = rows[row][: luck.randrange(len(rows[row]) + 1)]
            case _ if column < len(rows[row]):
                rows[row][column] = str(_value(rows[row][column], luck))
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode("utf-8", errors="surrogatepass")


def as_json(content: Any) -> bytes:
    """As Python writes it: NaN and halves of signs as they are, numbers of any length."""
    return json.dumps(content, ensure_ascii=False).encode("utf-8", errors="surrogatepass")


def _changed(content: Any, luck: random.Random) -> Any:
    """One place of it changed."""
    places = _places(content)
    if not places:
        return luck.choice(VALUES)
    holder, key = luck.choice(places)
    _CHANGES[luck.randrange(len(_CHANGES))](holder, key, places, luck)
    return content


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Every value with what holds it and its key or position."""
    found: list[tuple[Any, Any]] = []
    waiting = [content]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        found += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys]
    return found


def _value(old: Any, luck: random.Random) -> Any:
    """Another value: a nasty one, or the old one a little off."""
    if luck.random() < 0.5:
        return copy.deepcopy(luck.choice(VALUES))
    if isinstance(old, bool) or old is None:
        return luck.choice((True, False, 1, "no"))
    if isinstance(old, int | float) and abs(old) < HUGE:
        return luck.choice((-old, old * 1e6, old / 1e6, old + 0.5, str(old), [old], int(old)))
    if isinstance(old, str) and old:
        at = luck.randrange(len(old))
        return luck.choice(
            (old.upper(), old[:at], old[:at] + luck.choice("é\u200b \u202e,\"'\\\n") + old[at:], old * 2)
        )
    return luck.choice((old, [old], {"x": old}))


def _replace(holder: Any, key: Any, places: list[tuple[Any, Any]], luck: random.Random) -> None:
    del places
    holder[key] = _value(holder[key], luck)


def _remove(holder: Any, key: Any, places: list[tuple[Any, Any]], luck: random.Random) -> None:
    del places, luck
    del holder[key]


def _move(holder: Any, key: Any, places: list[tuple[Any, Any]], luck: random.Random) -> None:
    """A value from elsewhere in the same file."""
    other, at = luck.choice(places)
    holder[key] = copy.deepcopy(other[at])


def _add(holder: Any, key: Any, places: list[tuple[Any, Any]], luck: random.Random) -> None:
    """A field that another group has, an item once more, or a field that nobody knows."""
    other, at = luck.choice(places)
    if isinstance(holder, dict):
        holder[at if isinstance(at, str) else luck.choice(("x", "", "a.b", "a[0]", "\u200b"))] = copy.deepcopy(
            other[at]
        )
    else:
        holder.insert(key, copy.deepcopy(holder[key]))


_CHANGES: Final[tuple[Callable[..., None], ...]] = (_replace, _replace, _replace, _replace, _remove, _move, _add)
