"""The look of drawn figures: white paper, colours that the colour-blind tell apart, dashes and hatches besides."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

WIDTH: Final = 8.0  # inches
DOTS_PER_INCH: Final = 200
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5a5a5a")  # Okabe and Ito
DASHES: Final = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
HATCHES: Final = ("", "///", "...", "xxx", "\\\\\\", "+++")
JOBS: Final = ("#9ec5f8", "#f6c177", "#a3dca8", "#d6b8f5", "#f4b6c2", "#8fd6d6", "#dcd08a", "#c3c8d4")
LATE: Final = "#b00020"

SETTINGS: Final[Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d1d9e0",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",  # texts stay texts
    "svg.hashsalt": "gsdsl",  # equal results give equal files
    "text.parse_math": False,  # `$` is money, and names are no formulas
    "text.usetex": False,
}

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


def label(text: str, longest: int = 40) -> str:
    """Return a name from data as the text of a figure: one line, no control characters, not too long."""
    line = _CONTROL.sub("\ufffd", " ".join(unicodedata.normalize("NFC", text).split()))
    short = line if len(line) <= longest else line[: longest - 1] + "…"
    return f" {short}" if short.startswith("_") else short  # Matplotlib leaves out labels that begin with `_`
