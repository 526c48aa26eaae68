"""HiGHS without output from its construction on.

highspy's constructor registers a callback; since HiGHS 1.16 that call prints the header, before an option can be set.
"""

from __future__ import annotations

from typing import Any

import highspy

_Highs: Any = highspy.Highs  # its methods have no type annotations


class QuietHighs(_Highs):  # type: ignore[misc]
    """A solver whose `output_flag` is off unless an option turns it on."""

    def __init__(self) -> None:
        super().__init__()
        self.silent()

    def enableCallbacks(self) -> None:
        self.silent()
        super().enableCallbacks()
