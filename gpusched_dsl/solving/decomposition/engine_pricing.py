"""Pricing on the workers of an engine: they get the blocks once, and then the costs of their columns in each round.

Every block is priced from nothing, so its points depend on its costs alone: not on how blocks are shared out, on the
worker that prices them, or on how often a share was started again. The results are those of a `Pricer` of all blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from gpusched_dsl.engines.arrays import pack, unpack
from gpusched_dsl.engines.protocol import KEY_LENGTH, Done, Engine, Failure, Shared, Work, failure_diagnostic
from gpusched_dsl.engines.shared_data import latest
from gpusched_dsl.ir.arrays import Codes, Floats, unique
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.decomposition.block_share import own_slice, packed_share, share_from, share_of
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock
from gpusched_dsl.solving.decomposition.points import Points, join_points
from gpusched_dsl.solving.decomposition.pricing import Pricer, PricingResult, overall_status, wanted_blocks
from gsdsl_backends.protocol import Backend
from gsdsl_backends.registry import backend as backend_named
from gsdsl_backends.registry import backend_names

PRICE = "gpusched_dsl.solving.decomposition.engine_pricing:price_share"  # the function of a worker
MORE_MEMORY = "start fewer workers with `--workers`"
SHARES_PER_WORKER = 4  # of blocks for the backend, whose times differ
LEAST_SHARES = 16  # more workers may come
AGAIN = "the solver may crash: solve without `--engine`, or with another solver"


class EnginePricer:
    """Prices all blocks of a problem again and again: recognised ones here, the others on an engine."""

    def __init__(self, parts: BlockStructure, backend: Backend, engine: Engine, own: Pricer) -> None:
        """`own` is the pricer of this process. Raises DiagnosticError (GSM5309) if workers cannot load the backend."""
        if backend.name not in backend_names():
            help = "register it as an entry point, or solve without `--engine`"
            message = f"workers cannot load the backend `{backend.name}`: it has no registered name"
            raise DiagnosticError([Diagnostic("GSM5309", message, help=help)])
        self._parts, self._engine, self._own = parts, engine, own
        self.recognised, self.backend_blocks = own.recognised, own.backend_blocks
        blocks = packed_share(share_of(parts, 0, parts.blocks.count))
        data = pack({**blocks, "backend": backend.name, "versions": backend.versions()})
        self._shared = Shared(hashlib.sha256(data).hexdigest()[:KEY_LENGTH], data)
        shares = max(LEAST_SHARES, SHARES_PER_WORKER * engine.workers)
        self._ends = _equal_shares(parts, min(parts.blocks.count, shares))

    def price(
        self,
        costs: Floats,
        watch: DecompositionClock | None = None,
        every_lane: bool = False,
        some: Codes | None = None,
    ) -> PricingResult:
        """Return what `Pricer.price` does; if the time is over first, nothing is known of some blocks.

        Raises DiagnosticError if a worker died again and again, needed too much memory, or has other versions.
        """
        wanted = wanted_blocks(self._parts, some)
        least = np.full(self._parts.blocks.count, np.inf)
        points = [self._own.price_recognised(costs, least, wanted, every_lane=every_lane)]
        work: list[Work] = []
        asked: list[tuple[int, Codes]] = []
        for first, stop in zip(self._ends[:-1].tolist(), self._ends[1:].tolist(), strict=True):
            chosen = np.flatnonzero(wanted[first:stop] & ~self.recognised[first:stop])
            if len(chosen):
                own = costs[own_slice(self._parts, first, stop)]
                message = pack({"first": first, "stop": stop, "costs": own, "some": chosen})
                work.append(Work.of(PRICE, message, self._shared))
                asked.append((first, chosen))
        found = self._engine.run(PRICE, work, lambda: watch is not None and watch.over, self._shared) if work else ()
        answers = {done.key: _answer_of(done) for done in found}
        statuses = []
        for each, (first, chosen) in zip(work, asked, strict=True):
            answer = answers.get(each.key)
            least[first + chosen] = -np.inf if answer is None else answer["least"]
            statuses.append(Status.LIMIT if answer is None else Status(answer["status"]))
            if answer is not None:
                points.append(self._points(first, answer))
        priced = join_points(points)
        if work:
            priced = priced.take(np.argsort(priced.block, kind="stable"))
        return PricingResult(least, priced, overall_status(statuses, least[wanted]))

    def _points(self, first: int, answer: Mapping[str, Any]) -> Points:
        """Return the points of a share that begins with the block `first`."""
        place = own_slice(self._parts, first, first + 1).start
        shape = (len(answer["starts"]) - 1, len(self._parts.own))
        values = sp.csr_array((answer["values"], answer["columns"] + place, answer["starts"]), shape=shape)
        return Points(first + answer["block"], values)


def _equal_shares(parts: BlockStructure, count: int) -> Codes:
    """Return where shares of about equally many columns begin and end, in numbers of blocks."""
    before = np.searchsorted(parts.block, np.arange(parts.blocks.count + 1))
    wanted = np.linspace(0, before[-1], count + 1)
    return unique(np.searchsorted(before, wanted)).astype(np.int64)


def _answer_of(done: Done) -> Mapping[str, Any]:
    """Return the answer of a worker; raises DiagnosticError for a failure."""
    if isinstance(done.result, Failure):
        raise DiagnosticError([failure_diagnostic(done, done.result, "a part of the solve", AGAIN, MORE_MEMORY)])
    answer = unpack(done.result)
    if answer.get("refusal"):
        help = "install the same versions for all workers"
        raise DiagnosticError([Diagnostic("GSM5309", answer["refusal"], help=help)])
    return answer


# --- workers ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Worker:
    """The blocks of a solve in the process of a worker, and the pricers of the shares it had."""

    key: str
    parts: BlockStructure
    backend: Backend
    refusal: str
    pricers: dict[tuple[int, int], Pricer] = field(default_factory=dict)

    def pricer(self, first: int, stop: int) -> Pricer:
        if (first, stop) not in self.pricers:
            self.pricers[first, stop] = Pricer(share_of(self.parts, first, stop), self.backend, recognise=False)
        return self.pricers[first, stop]


_workers: list[_Worker] = []  # the last one


def price_share(message: bytes) -> bytes:
    """Price some blocks of the shared data at the costs of a message; the function of a worker."""
    worker, asked = _worker(), unpack(message)
    if worker.refusal:
        return pack({"refusal": worker.refusal})
    some = asked["some"]
    found = worker.pricer(asked["first"], asked["stop"]).price(asked["costs"], some=some)
    values = found.points.values
    return pack(
        {
            "least": found.least[some], "status": found.backend_status.value, "block": found.points.block,
            "starts": values.indptr.astype(np.int64), "columns": values.indices.astype(np.int64), "values": values.data,
        }
    )  # fmt: skip


def _worker() -> _Worker:
    shared = latest()
    if not _workers or _workers[0].key != shared.key:
        given = unpack(shared.data)
        backend = backend_named(given["backend"])
        own, theirs, refusal = backend.versions(), given["versions"], ""
        if own != theirs:
            names = [name for name in {**own, **theirs} if own.get(name) != theirs.get(name)]
            shown = ", ".join(f"{name} {own.get(name, '-')} instead of {theirs.get(name, '-')}" for name in names)
            refusal = f"a worker has other versions than this process: {shown}"
        _workers[:] = [_Worker(shared.key, share_from(shared.data), backend, refusal)]
    return _workers[0]
