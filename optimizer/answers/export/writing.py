"""Writes an export into its folder: whole or not at all, and over nothing but what an export wrote."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from optimizer.base.errors import Finding, InputError

MANIFEST: Final = ".optimizer-export.json"
SHOWN: Final = 3
ANOTHER: Final = "move them away, or give another folder to --output"


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Writes files beside the folder, then puts them in its place.

    Args:
        folder: Where they go; it is made, and an earlier export in it is replaced.
        files: Path in the folder → content; scripts (.sh) may be executed.

    Raises:
        InputError: the folder holds what no export wrote, or what was changed since; or it cannot be written.
    """
    check_folder(folder)
    hashes = {name: _hash(text.encode()) for name, text in files.items()}
    contents = {**files, MANIFEST: json.dumps(dict(sorted(hashes.items())), indent=2) + "\n"}
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            for name, text in contents.items():
                path = beside / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                path.chmod(0o755 if path.suffix == ".sh" else 0o644)
            beside.chmod(0o755)
            if folder.exists():
                shutil.rmtree(folder)
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise InputError([Finding("--output", 0, "", f"cannot write {folder}: {error.strerror}")]) from error


def check_folder(folder: Path) -> None:
    """Says that a folder cannot be written before any work is done for it.

    Raises:
        InputError: as `write_folder`.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError([Finding("--output", 0, "", f"{folder} is a file", "give a folder")])
    if not folder.resolve().parent.is_dir():
        raise InputError([Finding("--output", 0, "", f"{folder} is in {folder.parent}, which is not a folder")])
    if folder.exists():
        _check_ours(folder)


def _check_ours(folder: Path) -> None:
    """That every file in a folder is as an export wrote it."""
    ours = _manifest(folder / MANIFEST)
    there = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if not path.is_dir()}
    strange = [name for name in there if name != MANIFEST and name not in ours]
    edited = [name for name, path in there.items() if name in ours and _hash(path.read_bytes()) != ours[name]]
    for problem, names in (("files that no export wrote", strange), ("exported files that were changed", edited)):
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            said = f"{folder} holds {problem}: {', '.join(names[:SHOWN])}{more}"
            raise InputError([Finding("--output", 0, "", said, ANOTHER)])


def _manifest(path: Path) -> dict[str, Any]:
    """The hashes of an earlier export; none where there was none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
