"""Files written into a folder that may hold others: none of somebody else is written over."""

from collections.abc import Mapping
from pathlib import Path

from optimizer.base.errors import Finding, InputError


def write_folder(folder: Path, files: Mapping[str, str], mark: str) -> None:
    """Writes text files, each beside its place and then moved there, so that none is ever half of two.

    Args:
        folder: Made where it is not there.
        files: Texts by name.
        mark: What every file of ours contains; one without it is somebody else's.

    Raises:
        InputError: a file of somebody else is in the way, or the folder cannot be written.
    """
    findings = [
        Finding(str(folder / name), 0, "", "is there already and was not written by this command", "another --output")
        for name in files
        if (folder / name).exists() and not _is_ours(folder / name, mark)
    ]
    if findings:
        raise InputError(findings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            beside = folder / f".{name}.new"
            beside.write_text(text, encoding="utf-8")
            beside.replace(folder / name)
    except OSError as error:
        raise InputError([Finding("--output", 0, "", f"cannot write {folder}: {error.strerror}")]) from error


def _is_ours(path: Path, mark: str) -> bool:
    try:
        return mark in path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
