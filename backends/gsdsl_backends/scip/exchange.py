"""Points that SCIP finds and takes while it works: an event handler and a heuristic of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyscipopt
from pyscipopt.scip import PY_SCIP_EVENTTYPE, PY_SCIP_HEURTIMING, PY_SCIP_RESULT

from gpusched_dsl.ir.arrays import Floats
from gsdsl_backends.interrupt import Control

PRIORITY = 1_000_000  # before SCIP's own heuristics


def include_exchange(model: pyscipopt.Model, variables: list[Any]) -> PointExchange:
    """Add the plugins to a model whose variables are those of the columns."""
    exchange = PointExchange(variables)
    model.includeEventhdlr(exchange.events, "points", "gives better points")
    model.includeHeur(
        exchange.heuristic, "offers", "takes points of other solvers", "Y", PRIORITY,
        timingmask=PY_SCIP_HEURTIMING.BEFORENODE | PY_SCIP_HEURTIMING.AFTERLPLOOP,
    )  # fmt: skip
    return exchange


class PointExchange:
    """The two plugins. They do nothing while `control` is None, or its monitor exchanges no points."""

    def __init__(self, variables: list[Any]) -> None:
        self.control: Control | None = None
        self.events, self.heuristic = _PointEvents(self, variables), _OfferHeuristic(self, variables)


class _PointEvents(pyscipopt.Eventhdlr):
    def __init__(self, owner: PointExchange, variables: list[Any]) -> None:
        self._owner, self._variables = owner, variables

    def eventinit(self) -> None:
        self.model.catchEvent(PY_SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexec(self, event: object) -> None:
        control = self._owner.control
        if control is not None and control.exchanges:
            best: Any = self.model.getBestSol()
            control.improve(np.array([best[variable] for variable in self._variables], dtype=np.float64))


class _OfferHeuristic(pyscipopt.Heur):
    def __init__(self, owner: PointExchange, variables: list[Any]) -> None:
        self._owner, self._variables = owner, variables

    def heurexec(self, heurtiming: object, nodeinfeasible: bool) -> dict[str, object]:
        control = self._owner.control
        offer: Floats | None = None if control is None else control.take_offer()
        if offer is None:
            return {"result": PY_SCIP_RESULT.DIDNOTRUN}
        solution = self.model.createOrigSol(self)
        for column in np.flatnonzero(offer).tolist():
            self.model.setSolVal(solution, self._variables[column], float(offer[column]))
        accepted = self.model.trySol(solution, printreason=False, free=True)
        return {"result": PY_SCIP_RESULT.FOUNDSOL if accepted else PY_SCIP_RESULT.DIDNOTFIND}
