"""Signs and names that deceive the eye: which may not be read, and when two names look like one."""

import unicodedata
from typing import Final

BLANK_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)
"""Unicode counts them among letters, marks and symbols, yet they show nothing: fillers and variation selectors."""

LOOK_LIKE_LATIN: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""Scripts that share shapes of letters, so that a word of two of them reads as a word of one."""


def hidden_sign(text: str, *, lines: bool = False) -> str:
    """The first sign of a text that nobody can see, in words; empty where there is none.

    Control, bidirectional and zero-width characters, blanks other than the space, surrogates, and code points without
    a character (all that `str.isprintable` refuses), and letters that show nothing.

    Args:
        text: As it was read.
        lines: Whether it may hold line breaks and tabs.
    """
    if lines:
        text = text.translate({9: 32, 10: 32, 13: 32})
    if text.isprintable() and (text.isascii() or BLANK_LETTERS.isdisjoint(text)):
        return ""
    sign = next(each for each in text if not each.isprintable() or each in BLANK_LETTERS)
    name = unicodedata.name(sign, "").lower()
    return f"U+{ord(sign):04X}{f' ({name})' if name else ''}"


def unseen(text: str, *, lines: bool = False) -> str:
    """The problem of a text that holds a hidden sign; empty where it holds none."""
    sign = hidden_sign(text, lines=lines)
    return f"holds a sign that nobody sees: {sign}" if sign else ""


def look(name: str) -> str:
    """What two names share that only case, width or form tells apart: NFKC and case folding (UAX #15, Unicode 3.13)."""
    return name.casefold() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()


def mixed_scripts(name: str) -> str:
    """The scripts of a name that mixes those with letters of the same shapes, in words; empty where it does not.

    The script is the first word of a letter's Unicode name: Python's own library knows no more of it.
    """
    if name.isascii():
        return ""
    letters = (unicodedata.name(sign, "").partition(" ")[0] for sign in unicodedata.normalize("NFKC", name))
    found = sorted(LOOK_LIKE_LATIN.intersection(letters))
    return " and ".join(each.capitalize() for each in found) if len(found) > 1 else ""
