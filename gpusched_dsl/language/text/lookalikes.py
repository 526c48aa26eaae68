"""Texts that look the same although they differ: in invisible characters, in spaces, or in how accents are composed."""

from __future__ import annotations

import re
import unicodedata

# Zero-width spaces, soft hyphens and marks of direction. The joiners U+200C and U+200D are letters of some scripts.
INVISIBLE = re.compile("[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_JOINERS = re.compile("[\u200c\u200d]")


def visible(text: str) -> str:
    """Return a text as it looks: the same for two texts that cannot be told apart."""
    if text.isascii():
        return text
    shown = unicodedata.normalize("NFC", _JOINERS.sub("", INVISIBLE.sub("", text)))
    return shown if shown.isascii() else " ".join(shown.split())


def look_alike(one: str, other: str) -> bool:
    """Whether two different texts look the same."""
    return one != other and not (one.isascii() and other.isascii()) and visible(one) == visible(other)


def spell(text: str) -> str:
    """Return a text with the names of what cannot be seen in it: `j1<U+200B>`, `e<U+0301>`."""
    return "".join(f"<U+{ord(letter):04X}>" if not letter.isascii() and _hidden(letter) else letter for letter in text)


def _hidden(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cf", "Mn", "Zs", "Zl", "Zp")
