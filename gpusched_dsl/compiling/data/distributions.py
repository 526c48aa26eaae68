"""The laws of a random quantity over its index domain, from their checked form and the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.store import RandomLaws
from gpusched_dsl.data.samples import read_samples
from gpusched_dsl.data.sources.reader import FileReader
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.distributions import Distribution, discrete, mixture, survival_points
from gpusched_dsl.ir.distributions.linear_survival import SUM_SLACK
from gpusched_dsl.ir.distributions.named import named_distribution
from gpusched_dsl.ir.distributions.stacked import DistinctLaws
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.checked import CheckedRandom, IndexVar, TypedExpr, TypedLaw, TypedList
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.distributions import spelling_of
from gpusched_dsl.language.source import Span

Laws = tuple[list[Distribution], Codes]  # distinct laws, and for each row of a frame which of them it has
Named = dict[str, float]


def laws_of(
    random: CheckedRandom, law: TypedLaw, ev: Evaluator, reader: FileReader, diagnostics: Diagnostics
) -> RandomLaws | None:
    """The laws of a random over its domain; None after findings in a file.

    Raises DiagnosticError: GSM3101 an argument that no such law has, GSM3102 no sample, GSM3103 weights that are no
    probabilities, GSM3104 a condition without probability.
    """
    domain = ev.index_domain(random.indexing, random.span)
    ev.budget.frame(domain.size, 1 + domain.arity, random.span, f"random `{random.name}`")
    frame = ev.domain_frame(random.indexing, domain)
    laws = _LawMaker(random, domain, ev, reader, diagnostics).laws(law, frame)
    return None if laws is None else RandomLaws(domain, DistinctLaws(laws[0]), laws[1])


class _LawMaker:
    def __init__(
        self, random: CheckedRandom, domain: Domain, ev: Evaluator, reader: FileReader, diagnostics: Diagnostics
    ) -> None:
        self.random = random
        self.domain = domain
        self.ev = ev
        self.reader = reader
        self.diagnostics = diagnostics

    def laws(self, law: TypedLaw, frame: Frame) -> Laws | None:
        if law.file is not None:
            return self._from_file(law, frame)
        if law.points is not None:
            return self._from_list(law, law.points, frame)
        if not law.parts:
            return self._combine(law, frame, [], lambda numbers, _: named_distribution(law.name).make(numbers))
        parts = [self.laws(part, frame) for part in law.parts]
        inner = [part for part in parts if part is not None]
        if len(inner) < len(parts):
            return None
        if law.name == "mixture":
            return self._mixture(law, frame, inner)
        make = _truncate if law.name == "truncate" else _censor
        return self._combine(law, frame, inner, make)

    # --- one law per distinct combination of arguments ----------------------------------------------------------------

    def _combine(
        self,
        law: TypedLaw,
        frame: Frame,
        inner: Sequence[Laws],
        make: Callable[[Named, list[Distribution]], Distribution],
        numbers: Sequence[Floats] | None = None,
    ) -> Laws:
        """Apply `make` to the named numbers and component distributions, once for each distinct row."""
        columns = [self._number(law, name, expr, frame) for name, expr in law.numbers] if numbers is None else numbers
        names = [name for name, _ in law.numbers] if numbers is None else [str(i) for i in range(len(numbers))]
        table = np.column_stack([np.zeros(frame.size), *columns, *(which for _, which in inner)])
        distinct, which = np.unique(table, axis=0, return_inverse=True)
        which = which.reshape(-1).astype(np.int64)
        made: list[Distribution] = []
        for number, row in enumerate(distinct.tolist()):
            values = dict(zip(names, row[1 : 1 + len(names)], strict=True))
            laws = [laws[int(at)] for (laws, _), at in zip(inner, row[1 + len(names) :], strict=True)]
            try:
                made.append(make(values, laws))
            except ValueError as error:
                self._refuse(law, which == number, str(error), frame)
        return made, which

    def _number(self, law: TypedLaw, name: str, expr: TypedExpr, frame: Frame) -> Floats:
        values = np.broadcast_to(self.ev.numbers(expr, frame), (frame.size,))
        what = f"`{name}` of `{law.name}`"
        self.ev.refuse_where(~np.isfinite(values), "GSM3101", f"{what} is not finite", expr, frame, "not finite")
        if not law.parts and name not in _any_sign(law):
            self.ev.refuse_where(values <= 0, "GSM3101", f"{what} must be positive", expr, frame, "zero or less")
        return values

    def _refuse(self, law: TypedLaw, rows: Bools, message: str, frame: Frame) -> None:
        where = self.ev.row_text(frame, int(np.flatnonzero(rows)[0]))
        code = "GSM3104" if law.name == "truncate" else "GSM3103" if law.name == "mixture" else "GSM3101"
        message = f"`{law.name}` of `{self.random.name}`: {message}" + (f" for {where}" if where else "")
        raise self.ev.failure(code, message, law.span)

    def _mixture(self, law: TypedLaw, frame: Frame, inner: list[Laws]) -> Laws:
        weights = [np.broadcast_to(self.ev.numbers(expr, frame), (frame.size,)) for expr in law.weights]
        for expr, values in zip(law.weights, weights, strict=True):
            self._probability(expr, values, frame)
        wrong = np.abs(np.sum(weights, axis=0) - 1.0) > SUM_SLACK
        self._sum_to_one(law.span, wrong, frame)
        return self._combine(law, frame, inner, lambda w, laws: mixture(laws, np.array(list(w.values()))), weights)

    # --- lists --------------------------------------------------------------------------------------------------------

    def _from_list(self, law: TypedLaw, points: TypedList, frame: Frame) -> Laws:
        """The law of each row from its list; one for all rows when the list depends on no index."""
        varies = bool(self._index_variables(points))
        rows = frame if varies else Frame(min(frame.size, 1), {})
        values, weights, starts = self._items(points, rows)
        counts = np.diff(starts)
        if not counts.all():
            where = self.ev.row_text(rows, int(np.flatnonzero(counts == 0)[0])) if varies else ""
            message = f"`{law.name}` of `{self.random.name}` has no value" + (f" for {where}" if where else "")
            raise self.ev.failure("GSM3102", message, points.span, "empty")
        if law.name == "discrete":
            assert weights is not None
            row_of = np.repeat(np.arange(rows.size, dtype=np.int64), counts)
            total = np.bincount(row_of, weights=weights, minlength=rows.size)
            self._sum_to_one(points.span, np.abs(total - 1.0) > SUM_SLACK, rows)
        distinct = _DistinctLaws()
        for number, (a, b) in enumerate(pairwise(starts.tolist())):
            own = None if weights is None else weights[a:b]
            make = _points_law if law.name == "survival_points" else discrete
            try:
                distinct.add(values[a:b], own, make)
            except ValueError as error:
                self._refuse(law, np.arange(rows.size) == number, str(error), rows)
        return distinct.laws, distinct.which(frame.size)

    def _index_variables(self, points: TypedList) -> frozenset[IndexVar]:
        bound = frozenset(points.indexing.variables) if points.indexing is not None else frozenset()
        inside = free_variables(points.rows) - bound
        return inside | (free_variables(points.indexing) if points.indexing is not None else frozenset())

    def _items(self, points: TypedList, frame: Frame) -> tuple[Floats, Floats | None, Codes]:
        """Values and weights of all items, row by row, and where each row starts."""
        if points.indexing is None:
            items = [[self._item(expr, at, frame) for at, expr in enumerate(row)] for row in points.rows]
            starts = len(items) * np.arange(frame.size + 1, dtype=np.int64)
            columns = [np.column_stack([item[at] for item in items]).reshape(-1) for at in range(len(items[0]))]
        else:
            grown = self.ev.expand(frame, points.indexing, points.span)
            counts = np.bincount(grown.parents(), minlength=frame.size)
            starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
            columns = [self._item(expr, at, grown.frame) for at, expr in enumerate(points.rows[0])]
        return columns[0], columns[1] if len(columns) > 1 else None, starts

    def _item(self, expr: TypedExpr, at: int, frame: Frame) -> Floats:
        values = np.broadcast_to(self.ev.numbers(expr, frame), (frame.size,))
        if at == 0:
            self.ev.refuse_where(~np.isfinite(values), "GSM3101", "a value is not finite", expr, frame, "not finite")
        else:
            self._probability(expr, values, frame)
        return values

    def _probability(self, expr: TypedExpr, values: Floats, frame: Frame) -> None:
        self.ev.refuse_where(
            ~((values >= 0) & (values < np.inf)), "GSM3103", "a probability or weight is negative or not finite", expr,
            frame, "not a probability",
        )  # fmt: skip

    def _sum_to_one(self, span: Span, wrong: Bools, frame: Frame) -> None:
        if wrong.any():
            where = self.ev.row_text(frame, int(np.flatnonzero(wrong)[0]))
            message = "the probabilities do not add up to 1" + (f" for {where}" if where else "")
            raise self.ev.failure("GSM3103", message, span, "their sum is not 1")

    # --- files --------------------------------------------------------------------------------------------------------

    def _from_file(self, law: TypedLaw, frame: Frame) -> Laws | None:
        assert law.file is not None
        read = read_samples(self.random, self.domain, law.file, self.reader, self.diagnostics)
        if read is None:
            return None
        scale = 1.0 if law.file.unit is None else self.ev.number(law.file.unit)
        distinct = _DistinctLaws()
        for begin, end in pairwise(read.starts.tolist()):
            weights = None if read.weights is None else read.weights[begin:end]
            distinct.add(scale * read.values[begin:end], weights, discrete)
        return distinct.laws, distinct.which(frame.size)


class _DistinctLaws:
    """Laws of rows of values and weights; equal rows share one, as jobs of one family do."""

    def __init__(self) -> None:
        self.laws: list[Distribution] = []
        self._rows: list[int] = []
        self._known: dict[tuple[bytes, bytes], int] = {}

    def add(
        self, values: Floats, weights: Floats | None, make: Callable[[Floats, Floats | None], Distribution]
    ) -> None:
        """Add the law of the next row. Raises ValueError as `make` does."""
        key = values.tobytes(), b"" if weights is None else weights.tobytes()
        if key not in self._known:
            self.laws.append(make(values, weights))
            self._known[key] = len(self.laws) - 1
        self._rows.append(self._known[key])

    def which(self, size: int) -> Codes:
        """Return the law of each of `size` rows; a single one is that of all."""
        rows = np.array(self._rows, dtype=np.int64)
        return rows if len(rows) == size else np.repeat(rows, size)


def _points_law(points: Floats, survival: Floats | None) -> Distribution:
    assert survival is not None
    return survival_points(points, survival)


def _truncate(given: Named, laws: list[Distribution]) -> Distribution:
    return laws[0].truncate(given.get("low", -np.inf), given.get("high", np.inf))


def _censor(given: Named, laws: list[Distribution]) -> Distribution:
    return laws[0].censor(given["high"])


def _any_sign(law: TypedLaw) -> frozenset[str]:
    """The arguments that may be zero or less."""
    spelling = spelling_of(law.name)
    assert spelling is not None
    return spelling.any_sign
