"""Files as commands meet them: read whole and within limits, written beside and renamed, never over what was read.

Whoever reads for a command reads here, so that one place knows what its inputs were and whatever is wrong with a file
is said in the same words.
"""

import json
import os
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.signs import PROSE, hidden_sign, unseen

STANDARD_INPUT: Final = Path("-")
MAX_FILE_BYTES: Final = 512_000_000
"""Of any file that is read whole; some readers take less."""

_inputs: Final[dict[tuple[int, int], Path]] = {}
"""Device and inode of each file that the running command has read, with its name."""
_piped: Final[list[bytes]] = []
"""Standard input, once it was read: nobody can read it twice."""


def forget_inputs() -> None:
    """A command begins: it has read nothing."""
    _inputs.clear()
    _piped.clear()


def name_of(path: Path) -> str:
    """The file as messages name it."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def read_text(path: Path, max_bytes: int = MAX_FILE_BYTES, *, hint: str = "", hint_to_size: str = "") -> str:
    """The text of a file, or of standard input for `-`, without a byte order mark.

    Raises:
        InputError: as `read_bytes`, or it is not UTF-8.
    """
    try:
        return read_bytes(path, max_bytes, hint=hint, hint_to_size=hint_to_size).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"cannot be read as text: byte {error.start} is not UTF-8"
        raise InputError([Finding(name_of(path), 0, "", problem, hint or "save it as UTF-8")]) from error


class RepeatedKey(ValueError):
    """A field that an object of JSON has twice, of which other readers may take the other one."""


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, for `object_pairs_hook`.

    Raises:
        RepeatedKey: a field stands in it twice.
    """
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise RepeatedKey(twice.encode(errors="replace").decode())
    return content


def refuse_repeated_keys(text: str, name: str) -> None:
    """Refuses sound JSON of which an object has a field twice.

    Raises:
        InputError: with the first such field.
    """
    try:
        json.loads(text, object_pairs_hook=without_repeats)
    except RepeatedKey as error:
        raise InputError([Finding(name, 0, str(error), "this key stands twice", "keep one")]) from error


def read_json(path: Path, hint: str = "") -> Any:
    """What a JSON file says.

    Args:
        path: A file, or `-`.
        hint: How to come by a file that can be read.

    Raises:
        InputError: as `read_text`, or it is not JSON, no number or nesting of common size, a field that stands
            twice, or a sign that nobody sees.
    """
    text, name = read_text(path, hint=hint), name_of(path)
    try:
        content = json.loads(text, object_pairs_hook=without_repeats)
    except json.JSONDecodeError as error:
        raise InputError([Finding(name, error.lineno, "", f"broken JSON: {error.msg}", hint)]) from error
    except RecursionError as error:
        raise InputError([Finding(name, 0, "", "nested too deeply", hint)]) from error
    except RepeatedKey as error:
        raise InputError([Finding(name, 0, str(error), "this key stands twice", "keep one")]) from error
    except ValueError as error:
        # the number of digits that Python reads at all
        raise InputError([Finding(name, 0, "", "holds a number of thousands of digits", hint)]) from error
    refuse_hidden_signs(text, name)
    return content


def refuse_hidden_signs(text: str, name: str) -> None:
    """Refuses sound JSON that holds what nobody sees, as it stands or written out with a backslash.

    Raises:
        InputError: with the line of the first such sign and what it stands in.
    """
    if not hidden_sign(text, lines=True) and "\\" not in text:
        return
    waiting: list[tuple[str, Any]] = [("", json.loads(text, parse_int=str, parse_float=str))]
    while waiting:
        field, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(field, key) for key in value] + [(f"{field}.{key}"[:120], each) for key, each in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{field}[{position}]"[:120], each) for position, each in enumerate(value)]
        elif isinstance(value, str):
            prose = field.rpartition(".")[2].partition("[")[0] in PROSE
            if sign := hidden_sign(value, lines=True, prose=prose):
                where = name, _line_of(sign, text), field.lstrip(".")
                raise InputError([Finding(*where, unseen(value, lines=True, prose=prose), "write it without")])


def _line_of(sign: str, text: str) -> int:
    """The first line that holds a sign, itself or written out; 0 where it is written in some other way."""
    code = int(sign[2:].split(" ")[0], base=16)
    forms = (chr(code), json.dumps(chr(code))[1:-1])
    found = [at for form in forms if (at := text.casefold().find(form.casefold())) >= 0]
    return text.count("\n", 0, min(found)) + 1 if found else 0


def read_bytes(path: Path, max_bytes: int = MAX_FILE_BYTES, *, hint: str = "", hint_to_size: str = "") -> bytes:
    """What a file holds, or standard input for `-`.

    Args:
        path: A plain file; one that is written without end, or that waits for a writer, is refused unread.
        max_bytes: More are refused.
        hint: What to do about a file that cannot be read.
        hint_to_size: What to do about one that is too large.

    Raises:
        InputError: no such file, a folder, a device or pipe, too large, or not ours to read.
    """
    if path == STANDARD_INPUT:
        return _standard_input(max_bytes, hint_to_size)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            is_folder = stat.S_ISDIR(found.st_mode)
            problem = "is a folder, not a file" if is_folder else "is a device or a pipe, not a plain file"
            mend = hint if is_folder else "a scenario or a plan may also come from standard input, as -"
            raise InputError([Finding(str(path), 0, "", problem, mend)])
        _check_size(path, found.st_size, max_bytes, hint_to_size)
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError([Finding(str(path), 0, "", f"cannot be read: {reason(error)}", hint)]) from error
    _inputs[found.st_dev, found.st_ino] = path
    return content


def _standard_input(max_bytes: int, hint_to_size: str) -> bytes:
    if not _piped:
        try:
            _piped.append(sys.stdin.buffer.read(MAX_FILE_BYTES + 1))
        except (OSError, ValueError, AttributeError) as error:
            why = reason(error) if isinstance(error, OSError) else "it is closed"
            raise InputError([Finding(name_of(STANDARD_INPUT), 0, "", f"cannot be read: {why}")]) from error
    _check_size(STANDARD_INPUT, len(_piped[0]), max_bytes, hint_to_size)
    return _piped[0]


def _check_size(path: Path, size: int, max_bytes: int, hint: str) -> None:
    if size > max_bytes:
        problem = f"{size:,} bytes is more than it may have ({max_bytes:,})"
        raise InputError([Finding(name_of(path), 0, "", problem, hint)])


def reason(error: OSError | ValueError) -> str:
    """Why the system refused a file, in its own few words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def check_outputs(outputs: Iterable[Path]) -> None:
    """Says that results could not be written, or would destroy what was read, before any time is spent on them.

    Raises:
        InputError: one is a folder, lies in none, may not be written or was read by this command; or two are the same.
    """
    findings, before = [], dict[str, Path]()
    for path in (each for each in outputs if each != STANDARD_INPUT):
        problem, hint = _problem_of(path)
        twin = before.setdefault(os.path.realpath(path), path)
        if twin is not path and not _is_special(path):
            problem, hint = "would be written twice by this command", "give each result a file of its own"
        if problem:
            findings.append(Finding(str(path), 0, "", problem, hint))
    refuse(findings)


def _problem_of(path: Path, *, over_inputs: bool = False) -> tuple[str, str]:
    """What stands against writing a file, and how to mend it; empty where nothing does."""
    try:
        if not path.parent.is_dir():
            return f"is in {path.parent}, which is not a folder", ""
        found = path.stat() if path.exists() else None
    except (OSError, ValueError) as error:
        return f"cannot be written: {reason(error)}", ""
    if found is None:
        return ("", "") if os.access(path.parent, os.W_OK) else ("cannot be written: its folder may not be", "")
    if stat.S_ISDIR(found.st_mode):
        return "is a folder", ""
    if not os.access(path, os.W_OK):
        return "cannot be written: it is protected", ""
    read = _inputs.get((found.st_dev, found.st_ino))
    if read is not None and not over_inputs:
        return f"is an input of this command, read as {read}", "write to another file"
    return "", ""


def write_text(path: Path, text: str, *, over_inputs: bool = False) -> None:
    """Writes a result as UTF-8, as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8", errors="replace"), over_inputs=over_inputs)


def write_bytes(path: Path, content: bytes, *, over_inputs: bool = False) -> None:
    """Writes a file whole or not at all: beside it, then renamed, so that whatever happens one of both is there.

    Args:
        path: Where a link is, what it leads to is written; a device or a pipe is written to.
        content: All of it.
        over_inputs: Whether what the command has read may be written over, as where rows are joined to a file.

    Raises:
        InputError: it can't be written, or was read by this command; the file is then as it was.
    """
    problem, hint = _problem_of(path, over_inputs=over_inputs)
    if problem:
        raise InputError([Finding(str(path), 0, "", problem, hint)])
    try:
        if _is_special(path):
            with path.open("wb") as stream:
                stream.write(content)
        else:
            _replace(Path(os.path.realpath(path)), content)
    except OSError as error:
        raise InputError([Finding(str(path), 0, "", f"cannot be written: {reason(error)}")]) from error


def _is_special(path: Path) -> bool:
    """Whether there is something else than a plain file: a rename would take its place."""
    return path.parts[1:2] in (("dev",), ("proc",)) or (path.exists() and not path.is_file())


def _replace(path: Path, content: bytes) -> None:
    """Nobody ever sees half of the content, and the old file stays until all of the new one is on the disk."""
    beside = path.with_name(f".optimizer-{os.urandom(6).hex()}")
    try:
        with open(beside, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
