"""The one way out for everything that a learner reads.

A second language is looked up here one day. Until then texts pass unchanged,
apart from characters that would do something to a terminal instead of being
read: what an answer prints, raises or returns is quoted on the screen.
"""

from __future__ import annotations

import unicodedata

# Line and paragraph separators break lines, format characters reorder them,
# surrogates cannot be encoded.
HARMFUL = ("Cc", "Cf", "Cs", "Zl", "Zp")

# What stands for the signs of ours that a terminal may be unable to print.
SPELLINGS = {
    "·": "-",
    "…": "...",
    "→": "->",
    "×": "x",
    "≠": "!=",
    "≤": "<=",
    "≥": ">=",
    "√": "sqrt",
    "–": "-",
    "—": "-",
    "−": "-",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "✓": "ok",
    "✗": "x",
    "█": "#",
    "░": ".",
    "▒": "+",
    "▓": "%",
    "●": "*",
    "○": "o",
}


def say(text: str) -> str:
    """Return the text as it may go to the learner; line ends are kept."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_harmless(char) for char in text.replace("\r\n", "\n"))


def simple(text: str) -> str:
    """Return the text with signs of ours spelled in ASCII, and letters as they are."""
    return "".join(SPELLINGS.get(char, char) for char in text)


def spell(text: str, encoding: str) -> str:
    """Return the text with nothing in it that `encoding` cannot print."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return "".join(_printable(char, encoding) for char in text)
    return text


def _harmless(char: str) -> str:
    if char == "\n" or unicodedata.category(char) not in HARMFUL:
        return char
    if char == "\t":
        return "    "
    if ord(char) < 0x80:
        return f"\\x{ord(char):02x}"
    return char.encode("ascii", "backslashreplace").decode()


def _printable(char: str, encoding: str) -> str:
    for candidate in (char, SPELLINGS.get(char, "")):
        try:
            candidate.encode(encoding)
        except (UnicodeEncodeError, LookupError):
            continue
        if candidate:
            return candidate
    return char.encode("ascii", "backslashreplace").decode()
