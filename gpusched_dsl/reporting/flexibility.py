"""The flexibility of a cluster: what can be guaranteed over days, its cost and the jobs that move, as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.solving.variants.guarantee import (
    amount_for_new_day,
    guaranteed_amount,
    mean_probability_of_new_day,
    probability_of_new_day,
    required_days,
)
from gsdsl_backends.protocol import SolveOptions

SAME = 1e-6  # relatively: a day that sheds an offer up to this share of it has shed it


@dataclass(frozen=True, eq=False)
class DayOffer:
    """The cheapest known plan of a day for an offer.

    `shed` is the offer, or the largest shed of the day if that is less. `cost` is the added cost of the plan, and no
    plan adds less than `cost_lower`. `price` and `relaxed_price` are marginal costs of a kW: with the integers of the
    plan, and in the relaxation without integers. `power` is that of each slot; `moves` has the decisions that differ.
    """

    shed: float
    cost: float
    cost_lower: float | None
    price: float | None
    relaxed_price: float | None
    status: str
    power: Floats
    moves: pl.DataFrame


@dataclass(frozen=True, eq=False)
class FlexibleDay:
    """A day: `cost` and `power` of its baseline (None without a plan, for the reason in `status` and `reason`).

    `most` is the largest shed that was found, none is larger than `most_bound`.
    """

    label: str
    scenario: str | None
    settings: Mapping[str, str]
    status: str
    reason: str
    cost: float | None
    slots: tuple[str, ...]
    power: Floats | None
    most: float
    most_bound: float | None
    offers: tuple[DayOffer, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Flexibility(Report):
    """The power that a cluster can shed in the slots of an event, over realised days.

    `guaranteed` is the largest shed on enough days, `guaranteed_bound` a proved bound of it; `table` has the offers
    with costs and prices, `day_table` the days, `moves` the decisions that differ from the plans without the event.

    `unit` is kW, or empty for a power without a unit; costs are in `money`. `offers` increase. `days` are those that
    were examined, of `asked_days`. `baseline` is the method of the plans without the event. `warnings` are errors that
    ended the solves of a day.
    """

    writers = Report.writers | {
        "json": "gpusched_dsl.reporting.flexibility_document:flexibility_document",
        "text": "gpusched_dsl.reporting.flexibility_text:flexibility_lines",
    }

    model: str
    scenario: str
    title: str
    power: str
    unit: str
    money: str
    event: str
    slots: tuple[str, ...]
    hours: float | None
    notice: str | None
    baseline: str
    probability: float
    offers: tuple[float, ...]
    days: tuple[FlexibleDay, ...]
    asked_days: int
    backend: str
    options: SolveOptions
    warnings: tuple[Diagnostic, ...] = ()

    # --- the guarantee -----------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether all days were examined, and all offers on each day with a plan."""
        done = all(len(day.offers) == len(self.offers) for day in self.days if day.cost is not None)
        return done and len(self.days) == self.asked_days

    @property
    def most(self) -> Floats:
        """The largest shed of each asked day that was found; 0 without a plan."""
        return np.array([day.most for day in self.days] + [0.0] * (self.asked_days - len(self.days)))

    @property
    def guaranteed(self) -> float:
        """The largest shed on the required number of days."""
        return guaranteed_amount(self.most, self.probability)

    @property
    def guaranteed_bound(self) -> float | None:
        """A proved upper bound of what can be guaranteed; None if a solver has proved none."""
        bounds = [math.inf if day.most_bound is None else day.most_bound for day in self.days]
        found = guaranteed_amount(np.array(bounds + [math.inf] * (self.asked_days - len(self.days))), self.probability)
        return found if math.isfinite(found) else None

    @property
    def required_days(self) -> int:
        """The number of days that must shed."""
        return required_days(self.asked_days, self.probability)

    def met_days(self, offer: float) -> int:
        """The number of days that can shed an offer."""
        return int((self.most >= offer * (1 - SAME)).sum())

    @property
    def new_day_probability(self) -> float:
        """A lower bound, with confidence 95 %, of the probability that another such day can shed what is guaranteed."""
        met = self.met_days(self.guaranteed) if self.guaranteed > 0 else 0
        return probability_of_new_day(self.asked_days, met)

    @property
    def mean_new_day_probability(self) -> float:
        """The probability that another such day can shed what is guaranteed, on average over draws of all the days."""
        return mean_probability_of_new_day(self.asked_days, self.required_days) if self.guaranteed > 0 else 0.0

    @property
    def new_day_amount(self) -> float:
        """The amount that another such day can shed with the asked probability, on average; 0 with too few days."""
        return amount_for_new_day(self.most, self.probability)

    # --- tables ------------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> pl.DataFrame:
        """Return a row for each offer.

        `offer`; `days` that can shed it, their `share`, and whether it is `guaranteed`; `cost`, `cost_lower` and
        `worst` (mean, mean of lower bounds, largest) of the added cost on the days with a plan, on which the
        largest shed is paid where the offer is larger; `per_unit` = cost / offer; `step`, the cost of a further unit
        since the previous offer; `price` and `relaxed_price`, the means of the marginal costs, which are 0 on days
        that already shed all they can.
        """
        rows, last = [], (0.0, 0.0)
        for at, offer in enumerate(self.offers):
            sheds = [(day, day.offers[at]) for day in self.days if len(day.offers) == len(self.offers)]
            costs = [shed.cost for _, shed in sheds]
            cost, met = _mean(costs), self.met_days(offer)
            rows.append(
                {
                    "offer": offer,
                    "days": met,
                    "share": met / self.asked_days,
                    "guaranteed": met >= self.required_days,
                    "cost": cost,
                    "cost_lower": _mean([shed.cost_lower for _, shed in sheds]),
                    "worst": max(costs, default=None),
                    "per_unit": None if cost is None else cost / offer,
                    "step": None if cost is None else _difference(cost, last[1]) / (offer - last[0]),
                    "price": _mean([self._marginal(day, offer, shed.price) for day, shed in sheds]),
                    "relaxed_price": _mean([self._marginal(day, offer, shed.relaxed_price) for day, shed in sheds]),
                }
            )
            last = (offer, last[1] if cost is None else cost)
        schema = {
            "offer": pl.Float64, "days": pl.Int64, "share": pl.Float64, "guaranteed": pl.Boolean, "cost": pl.Float64,
            "cost_lower": pl.Float64, "worst": pl.Float64, "per_unit": pl.Float64, "step": pl.Float64,
            "price": pl.Float64, "relaxed_price": pl.Float64,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema)

    @staticmethod
    def _marginal(day: FlexibleDay, offer: float, price: float | None) -> float | None:
        """A day that cannot shed the offer sheds all it can, so a larger offer adds no cost."""
        return price if day.most >= offer * (1 - SAME) else 0.0

    @cached_property
    def day_table(self) -> pl.DataFrame:
        """Return a row for each day: `day`, `status`, `cost` of its baseline, `drawn` (its mean power in the event),
        `most`, `most_bound`, and whether it can shed what is `guaranteed`.
        """
        rows = [
            {
                "day": day.label,
                "status": day.status,
                "cost": day.cost,
                "drawn": None if day.power is None else float(day.power[self._event_of(day)].mean()),
                "most": day.most,
                "most_bound": day.most_bound,
                "meets": day.cost is not None and day.most >= self.guaranteed * (1 - SAME),
            }
            for day in self.days
        ]
        schema = {
            "day": pl.String, "status": pl.String, "cost": pl.Float64, "drawn": pl.Float64, "most": pl.Float64,
            "most_bound": pl.Float64, "meets": pl.Boolean,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema)

    @cached_property
    def moves(self) -> pl.DataFrame:
        """Return the decisions of jobs that differ from the baseline: `day`, `offer`, `job`, `place`, `slot` and
        `with_event`: true for decisions of the plan with the event, false for those that only the baseline has.
        """
        parts = [
            shed.moves.with_columns(
                pl.lit(day.label).alias("day"),
                pl.lit(offer).alias("offer"),
                pl.Series("slot", [day.slots[at] for at in shed.moves["slot"].to_list()], dtype=pl.String),
            ).select("day", "offer", "job", "place", "slot", "with_event")
            for day in self.days
            for offer, shed in zip(self.offers, day.offers, strict=False)
        ]
        schema = {"day": pl.String, "offer": pl.Float64, "job": pl.String, "place": pl.String, "slot": pl.String,
                  "with_event": pl.Boolean}  # fmt: skip
        return pl.concat(parts) if parts else pl.DataFrame(schema=schema)

    def csv_text(self) -> str:
        """Return the table of offers as CSV."""
        from gpusched_dsl.reporting.csv_files import csv_text

        return csv_text(self.table)

    def _event_of(self, day: FlexibleDay) -> slice:
        first = day.slots.index(self.slots[0])
        return slice(first, first + len(self.slots))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def _difference(cost: float, earlier: float) -> float:
    """The difference of two costs; 0 if it is a rounding error of theirs."""
    return 0.0 if math.isclose(cost, earlier, rel_tol=ROUNDING) else cost - earlier
