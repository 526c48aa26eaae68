"""An online block with its inheritance resolved and its expressions checked: how a model is driven over time.

The loop's own names are parameters of `CheckedOnline.model`, in place of parameters of the model with the same names:
`now`, and of each job `remaining` (fraction of the work left), `done` (work done), `running` (1 if it ran until now)
and `requested` (1 if the policy asked to be heard now because of it); with a window also `committed`, the last slot
that was executed; `elapsed`, the time since the last plan. In right sides of `carry`, all other parameters have the
values of the scenario. The value that a carried parameter `p` had in the last plan is the parameter `previous(p)`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from gpusched_dsl.language.checked import CheckedModel, IndexVar, TypedExpr, TypedIndexing, TypedLaw
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, Unit

ELAPSED = "elapsed"
CLOCK = ("now", "remaining", "done", "running", "requested", "committed", ELAPSED)
EVENTS = ("arrival", "completion", "failure", "recovery", "change")  # what a loop may replan on, besides `every ...`
EXECUTION, TARDINESS = "execution", "tardiness"  # terms of the cost of every run
CHANGES = ("start", "resume", "migration", "resize", "halt", "boot")  # of a job or a node, that may take time and money
OWN_TERMS = (EXECUTION, TARDINESS, *CHANGES)  # names of costs that charges must not have
CHARGED = ("jobs", "nodes")  # `charge jobs;`: their rates while they run; `charge nodes;`: whole nodes in use


def previous_name(param: str) -> str:
    """Return the name of the parameter with the values of a carried one in the last plan."""
    return f"previous({param})"


class CheckedWindow(Struct, frozen=True):
    """The set of slots, and how many slots are planned and how many of them executed before the next plan."""

    span: Span
    index: IndexVar
    slots: str
    lookahead: TypedExpr
    commit: TypedExpr


class CheckedArrival(Struct, frozen=True):
    """The arrival of jobs, in the unit of the clock; with a window: the slot. `job` is bound in `at`."""

    span: Span
    job: IndexVar
    jobs: str  # the set, a root set
    indexing: TypedIndexing
    at: TypedExpr


class CheckedTrigger(Struct, frozen=True):
    """An event of `EVENTS`, or `every`: a time in the unit of the clock, or with a window a number of slots."""

    span: Span
    event: str | None = None
    every: TypedExpr | None = None


class CheckedClockTimes(Struct, frozen=True):
    """`hours` of the clock on the wall at which a plan is made, on `days` of the week: 1 for Monday to 7."""

    span: Span
    hours: tuple[float, ...]
    days: tuple[int, ...]


class CheckedCarry(Struct, frozen=True):
    """`target[variables] = value` for the next plan, in the declared unit of the target."""

    target: str
    span: Span
    variables: tuple[IndexVar, ...]
    value: TypedExpr


class CheckedChange(Struct, frozen=True):
    """The cost of a change: `delay` in the unit of the clock (with a window: in hours), `costs` in money.

    The indices of the placement are bound to where the job is put.
    """

    event: str
    span: Span
    delay: TypedExpr | None = None
    costs: TypedExpr | None = None


class CheckedOutage(Struct, frozen=True):
    """Nodes of a set fail `every` so long after they were last put up, each time `lasting` so long."""

    span: Span
    nodes: str
    indexing: TypedIndexing
    every: TypedLaw
    lasting: TypedLaw


class CheckedCharge(Struct, frozen=True):
    """An amount for the executed slots, or a rate for the duration of a plan; by the elements of `indexing`."""

    name: str
    span: Span
    indexing: TypedIndexing
    value: TypedExpr
    unit: Unit


class CheckedOnline(Struct, frozen=True):
    """`model` has the loop's own names as parameters; `unit` is that of the clock (with a window it counts slots, and
    spans of time such as delays are in hours).

    `work` is the work of a job in its own unit (None: fractions of a job), `ends` where it really ends: an expression,
    or the name of a random of the model, which the world draws. `speed` is work by time in a way to run; `per_entry`:
    work in one slot. `stretch` multiplies planned times. `brought`: parameters that events bring along.
    """

    name: str
    span: Span
    model: CheckedModel
    base: CheckedModel
    arrival: CheckedArrival | None
    unit: Unit = DIMENSIONLESS
    doc: str | None = None
    window: CheckedWindow | None = None
    triggers: tuple[CheckedTrigger, ...] = ()
    clock_times: tuple[CheckedClockTimes, ...] = ()
    carries: tuple[CheckedCarry, ...] = ()
    work: TypedExpr | None = None
    ends: TypedExpr | str | None = None
    speed: TypedExpr | None = None
    per_entry: bool = False
    stretch: TypedExpr | TypedLaw | None = None
    changes: Mapping[str, CheckedChange] = field(default_factory=dict)
    outages: tuple[CheckedOutage, ...] = ()
    charged: str = ""  # one of CHARGED; "": node rates where the placement has them, else jobs
    charges: tuple[CheckedCharge, ...] = ()
    fallback: str | None = None
    brought: frozenset[str] = frozenset()

    @property
    def jobs_root(self) -> str:
        """The root set of the jobs: of those that arrive, or of the placement if all are there at the start."""
        if self.arrival is not None:
            return self.arrival.jobs
        return "" if self.base.placement is None else self.base.placement.root("job")

    @property
    def previous_names(self) -> dict[str, str]:
        """Return the parameters `previous(p)` of the model, and `p` for each of them."""
        return {previous_name(carry.target): carry.target for carry in self.carries}

    @property
    def clock_names(self) -> frozenset[str]:
        """Return the parameters of the model with values that only the run knows."""
        return frozenset(CLOCK) | self.previous_names.keys()

    def replans_on(self, event: str) -> bool:
        """Whether this event triggers a plan: without a line `replan`, all events do."""
        return not (self.triggers or self.clock_times) or any(t.event == event for t in self.triggers)
