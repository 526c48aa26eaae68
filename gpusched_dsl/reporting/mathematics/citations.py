"""What a declaration is called in a paper, and where: `"rent of a VM; c_v in (1)"`, `"one type for a node; (1)"`.

The last part of a declaration's text, after `;`, may name the symbol of the paper and the places that use it: numbers
of equations, tables, algorithms with their lines, and sections, such as `(4)`, `(4) to (6)`, `the objective`,
`(P1), Table I`, `Algorithm 2, line 10` or `section 3.1.4`. The name of an author before a place tells two papers
apart: `Kiros (3.2)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLACE = (
    r"(?:[A-Z][a-z]+ )?(?:\((?:[A-Z]-?)?\d+(?:\.\d+)*[a-z]?\)|Tables? [IVX\d]+|Figure \d+|Problem \d+"
    r"|the objective|Algorithm \d+(?:, lines? \d+(?: to \d+)?)?|section [IVXA-Z\d]+(?:[.-][A-Z\d]+)*)"
)
_CITED = re.compile(
    rf"(?:(?P<text>.*?);\s+)?(?:(?P<symbol>[^\s;]+(?:, [^\s;,]+)*) in )?"
    rf"(?P<places>{_PLACE}(?:(?:, | to | and ){_PLACE})*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Citation:
    """The symbol, empty for rows, and the places of the paper as they are written."""

    symbol: str
    places: str


def split_citation(doc: str) -> tuple[str, Citation | None]:
    """Return the meaning in a declaration's text, and what it says of a paper."""
    found = _CITED.fullmatch(doc.strip())
    if found is None:
        return doc, None
    return found["text"] or "", Citation(found["symbol"] or "", found["places"])
