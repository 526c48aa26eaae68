"""The parts of the gap of a run: myopia, forecast error, and the rest, which nobody can divide further.

Two more runs divide the difference between the total and the bound. They look further ahead than the run:

    ahead     with what is known: the present jobs, at their planned times,
    informed  with the real future: later jobs, real values.

Runs that plan at events simulate, at each decision, the plan of the method and those of some queues, and follow the one
with the least cost. Runs in windows plan with windows that end with the run (`workflows/why_gap.py`).

    total - bound = (total - ahead) + (ahead - informed) + (informed - bound)
                  =      myopia     +   forecast error   +     undivided

The last part has two causes: plans that are not the best, and a bound that no run reaches. To tell them apart needs the
least total of all runs, which is not known. A part may be negative: neither run is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass

UNDIVIDED = "plans that are not the best, or a bound that no run reaches: not told apart"
MEANINGS = (
    "saved by simulating plans with the present jobs",
    "then saved by knowing the real future",
    UNDIVIDED,
)


@dataclass(frozen=True, slots=True)
class GapParts:
    """Totals in money: of the run, of the two runs that look ahead, and the bound.

    `methods` make the plans of these runs; `meanings` describe the three parts.
    """

    total: float
    ahead: float
    informed: float
    bound: float
    methods: tuple[str, ...]
    meanings: tuple[str, str, str] = MEANINGS

    @property
    def myopia(self) -> float:
        """What looking further ahead saves, with what is known."""
        return self.total - self.ahead

    @property
    def forecast_error(self) -> float:
        """What knowing the future saves then."""
        return self.ahead - self.informed

    @property
    def undivided(self) -> float:
        """What then is left above the bound: heuristic loss, or weakness of the bound."""
        return self.informed - self.bound

    @property
    def parts(self) -> dict[str, float]:
        """The parts by name; their sum is the difference between total and bound."""
        return {
            "myopia": self.myopia,
            "forecast_error": self.forecast_error,
            "undivided": self.undivided,
        }
