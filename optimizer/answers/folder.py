"""Writes what a command makes into a folder: no file half, and over nothing but what that command wrote."""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import read_bytes, read_json, reason

SHOWN: Final = 3
ANOTHER: Final = "move them away, or give another folder to --output"


def write_folder(folder: Path, files: Mapping[str, str], command: str, leaves: Sequence[str] = ()) -> None:
    """Writes every file beside its place, and only when all are there puts them in it; what is no longer meant goes.

    Args:
        folder: Where they go; it is made, and what the command wrote into it before is replaced.
        files: Path in the folder → content; scripts (.sh) may be executed.
        command: That writes them.
        leaves: Folders in it that may hold other files.

    Raises:
        InputError: the folder holds what the command did not write, or what was changed since; or it cannot be written.
    """
    check_folder(folder, command, leaves)
    hashes = {name: _hash(text.encode()) for name, text in files.items()}
    contents = {**files, _manifest_name(command): json.dumps(dict(sorted(hashes.items())), indent=2) + "\n"}
    places = {folder / name: text for name, text in contents.items()}
    earlier = set(_files_in(folder, leaves).values())
    try:
        for path, text in places.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            _beside(path).write_text(text, encoding="utf-8")
            _beside(path).chmod(0o755 if path.suffix == ".sh" else 0o644)
        for path in places:
            _beside(path).replace(path)
        for path in sorted(earlier - set(places)):
            path.unlink(missing_ok=True)
            _remove_empty(path.parent, folder)
    except OSError as error:
        raise InputError([Finding("--output", 0, "", f"cannot write {folder}: {reason(error)}")]) from error
    finally:
        for path in places:
            with contextlib.suppress(OSError):
                _beside(path).unlink()


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _remove_empty(folder: Path, root: Path) -> None:
    """A deployment's folder of which nothing is left."""
    if folder not in (root, *root.parents) and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def check_folder(folder: Path, command: str, leaves: Sequence[str] = ()) -> None:
    """Says that a folder cannot be written before any work is done for it.

    Raises:
        InputError: as `write_folder`.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError([Finding("--output", 0, "", f"{folder} is a file", "give a folder")])
    if not folder.resolve().parent.is_dir():
        raise InputError([Finding("--output", 0, "", f"{folder} is in {folder.parent}, which is not a folder")])
    if folder.exists():
        _check_ours(folder, command, leaves)


def _check_ours(folder: Path, command: str, leaves: Sequence[str]) -> None:
    """That every file in a folder is as the command wrote it."""
    manifest = _manifest_name(command)
    ours = _manifest(folder / manifest)
    there = _files_in(folder, leaves)
    strange = [name for name in there if name != manifest and name not in ours]
    edited = [name for name, path in there.items() if name in ours and _hash(read_bytes(path)) != ours[name]]
    told = (f"files that no {command} wrote", strange), (f"files of an earlier {command} that were changed", edited)
    for problem, names in told:
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            said = f"{folder} holds {problem}: {', '.join(names[:SHOWN])}{more}"
            raise InputError([Finding("--output", 0, "", said, ANOTHER)])


def _files_in(folder: Path, leaves: Sequence[str]) -> dict[str, Path]:
    """Every file below a folder by its path in it, but for those in folders that are left alone."""
    files = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if not path.is_dir()}
    return {name.as_posix(): path for name, path in files.items() if name.parts[0] not in leaves}


def _manifest_name(command: str) -> str:
    return f".optimizer-{command}.json"


def _manifest(path: Path) -> dict[str, Any]:
    """The hashes of what the command wrote before; none where it did not."""
    try:
        content = read_json(path)
    except InputError:
        return {}
    return content if isinstance(content, dict) else {}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
