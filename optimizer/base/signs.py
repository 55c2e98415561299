"""Signs and names that deceive the eye: which may not be read, and when two names look like one."""

import unicodedata
from typing import Final

BLANK_LETTERS: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00013441\U00013442\U00016fe4\U0001d159"
) | frozenset(chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
"""Unicode counts them among letters, marks and symbols, yet they show nothing: fillers and variation selectors."""

PROSE: Final = frozenset({"description", "note", "notes", "title"})
"""Fields of free text, which nothing is called by."""

OF_PROSE: Final = dict.fromkeys((0x00A0, 0x200C, 0x200D, 0xFE0F), 32)
"""What belongs to writing there: a blank that breaks no line, joiners (Persian, emoji), the look of an emoji."""

ONE_LOOK: Final = (
    dict.fromkeys(map(ord, "\u02d7\u2043\u2212\u2796"), "-")
    | dict.fromkeys(map(ord, "\u00b4\u02b9\u02bb\u02bc\u2018\u2019\u201b\u2032"), "'")
    | dict.fromkeys(map(ord, "\u201c\u201d\u201f\u2033"), '"')
    | dict.fromkeys(map(ord, "\u2044\u2215\u27cb\u29f8"), "/")
    | dict.fromkeys(map(ord, "\u2236\ua789"), ":")
)
"""Minus signs, quotes, slashes and colons that look like those of ASCII; dashes are told by their category."""

LOOK_LIKE_LATIN: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""Scripts that share shapes of letters, so that a word of two of them reads as a word of one."""


def hidden_sign(text: str, *, lines: bool = False, prose: bool = False) -> str:
    """The first sign of a text that nobody can see, in words; empty where there is none.

    Control, bidirectional and zero-width characters, blanks other than the space, surrogates, and code points without
    a character (all that `str.isprintable` refuses), and letters that show nothing.

    Args:
        text: As it was read.
        lines: Whether it may hold line breaks and tabs.
        prose: Whether it is free text, which may hold signs that belong to writing.
    """
    if lines:
        text = text.replace("\t", " ").replace("\n", " ").replace("\r", " ")
    if prose:
        text = text.translate(OF_PROSE)
    if text.isprintable() and (text.isascii() or BLANK_LETTERS.isdisjoint(text)):
        return ""
    sign = next(each for each in text if not each.isprintable() or each in BLANK_LETTERS)
    name = unicodedata.name(sign, "").lower()
    return f"U+{ord(sign):04X}{f' ({name})' if name else ''}"


def unseen(text: str, *, lines: bool = False, prose: bool = False) -> str:
    """The problem of a text that holds a hidden sign; empty where it holds none."""
    sign = hidden_sign(text, lines=lines, prose=prose)
    return f"holds a sign that nobody sees: {sign}" if sign else ""


def look(name: str) -> str:
    """What two names share that only case, width, form or the kind of a dash, quote or slash tells apart.

    NFKC and case folding (UAX #15, Unicode 3.13); then a dash is a dash.
    """
    if name.isascii():
        return name.casefold()
    folded = unicodedata.normalize("NFKC", name.translate(ONE_LOOK)).casefold()
    return "".join("-" if unicodedata.category(sign) == "Pd" else sign for sign in folded)


def mixed_scripts(name: str) -> str:
    """The scripts of a word that mixes those with letters of the same shapes, in words; empty where none does.

    The script is the first word of a letter's Unicode name: Python's own library knows no more of it. Digits and marks
    end no word; the micro sign belongs to every script.
    """
    if name.isascii():
        return ""
    signs = unicodedata.normalize("NFKC", name.replace("\u00b5", ""))
    words = "".join(sign if sign.isalnum() or unicodedata.category(sign)[0] == "M" else " " for sign in signs).split()
    for word in words:
        found = LOOK_LIKE_LATIN.intersection(unicodedata.name(sign, "").partition(" ")[0] for sign in word)
        if len(found) > 1:
            return " and ".join(each.capitalize() for each in sorted(found))
    return ""
