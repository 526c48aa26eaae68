"""The parts of the gap of a run: myopia, forecast error, and heuristic loss.

Two more runs divide the difference between the total and the bound. In both, the plan of the method and those of some
queues are simulated at each decision, and the one with the least cost is followed:

    ahead     with what is known: the present jobs, at their planned times,
    informed  with the real future: later jobs, real lengths, failures of nodes.

    total - bound = (total - ahead) + (ahead - informed) + (informed - bound)
                  =      myopia     +   forecast error   +  heuristic loss

The heuristic loss also has the looseness of the bound. A part may be negative: simulations follow queues.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GapParts:
    """Totals in money: of the run, of the two runs that look ahead, and the bound. `methods` are those compared."""

    total: float
    ahead: float
    informed: float
    bound: float
    methods: tuple[str, ...]

    @property
    def myopia(self) -> float:
        """What looking ahead with the present jobs saves."""
        return self.total - self.ahead

    @property
    def forecast_error(self) -> float:
        """What knowing the future saves then."""
        return self.ahead - self.informed

    @property
    def heuristic_loss(self) -> float:
        """What then is left above the bound."""
        return self.informed - self.bound

    @property
    def parts(self) -> dict[str, float]:
        """The parts by name; their sum is the difference between total and bound."""
        return {
            "myopia": self.myopia,
            "forecast_error": self.forecast_error,
            "heuristic_loss": self.heuristic_loss,
        }
