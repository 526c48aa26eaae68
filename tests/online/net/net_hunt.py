"""Nets of random cases, and the hunt for cases by which the roads of a net disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gang_cases import drawn_gangs, smaller_gangs
from gang_roads import check_gangs
from gang_windows import drawn_gang_window, smaller_gang_window
from net_cases import drawn, smaller
from net_roads import Told, check
from state_cases import drawn_state, smaller_state
from state_roads import check_state
from state_window_roads import check_state_windows
from state_windows import drawn_state_window, smaller_state_window
from typed_cases import drawn_typed, smaller_typed
from window_cases import drawn_window, smaller_window
from window_roads import check_windows


@dataclass(frozen=True)
class Net:
    """`check` drives a case by all roads, those by a journal where there is a folder for one."""

    drawn: Callable[[int], Any]
    check: Callable[[Any, Path | None], Told]
    smaller: Callable[[Any], list[Any]]

    def smallest(self, case: Any, folder: Path | None) -> Any:
        """A case with as little in it as can be that still fails."""
        shrunk = True
        while shrunk:
            less = next((one for one in self.smaller(case) if self.fails(one, folder)), None)
            shrunk = less is not None
            case = less if shrunk else case
        return case

    def fails(self, case: Any, folder: Path | None) -> bool:
        try:
            return bool(self.check(case, folder).wrong)
        except Exception:
            return True


EVENTS: Final = Net(drawn, check, smaller)
TYPED: Final = Net(drawn_typed, check, smaller_typed)
WINDOWS: Final = Net(drawn_window, check_windows, smaller_window)
STATES: Final = Net(drawn_state, check_state, smaller_state)
GANGS: Final = Net(drawn_gangs, check_gangs, smaller_gangs)
STATE_WINDOWS: Final = Net(drawn_state_window, check_state_windows, smaller_state_window)
GANG_WINDOWS: Final = Net(drawn_gang_window, check_state_windows, smaller_gang_window)


class DisagreementError(AssertionError):
    """A case by which two roads disagree, made smaller."""


def hunt(net: Net, seeds: Iterable[int], folder: Path, journals: int) -> Counter[str]:
    """Check the cases of these seeds, one in so many `journals` by those roads too; how many there were of some kinds.

    Raises DisagreementError with the smallest case that fails.
    """
    counts: Counter[str] = Counter()
    for seed in seeds:
        case, place = net.drawn(seed), folder if seed % journals == 0 else None
        told = net.check(case, place)
        if told.wrong:
            less = net.smallest(case, place)
            raise DisagreementError(f"seed {seed}: {told.wrong}\n{net.check(less, place).wrong}\n{less.text}")
        counts.update({"cases": 1, "replayed": int(told.replayed), told.ended: 1, "plans": told.plans})
        counts["recorded"] += place is not None
    return counts
