"""The flexibility of a cluster as a report: text, JSON and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusched_dsl.reporting.document import finite
from gpusched_dsl.reporting.flexibility_data import FlexibilityData, FlexibleDay
from gpusched_dsl.reporting.flexibility_text import lines_of
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.solving.flexibility.guarantee import CONFIDENCE
from gpusched_dsl.version import __version__

FORMAT = "gsdsl-flexibility/1"


@dataclass(frozen=True, eq=False)
class Flexibility(FlexibilityData, Report):
    """The power that a cluster can shed in the slots of an event, over realised days.

    `guaranteed` is the largest shed on enough days, `guaranteed_bound` a proved bound of it; `table` has the offers
    with costs and prices, `day_table` the days, `moves` the decisions that differ from the plans without the event.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the document of `gsdsl flexibility --json`."""
        document: dict[str, Any] = {
            "format": FORMAT,
            "model": self.model,
            "scenario": self.scenario,
            "power": self.power,
            "unit": self.unit,
            "money": self.money,
            "event": self.event,
            "slots": list(self.slots),
            "hours": self.hours,
            "notice": self.notice,
            "baseline": self.baseline,
            "probability": self.probability,
            "asked_days": self.asked_days,
            "required_days": self.required_days,
            "guaranteed": self.guaranteed,
            "guaranteed_bound": self.guaranteed_bound,
            "confidence": CONFIDENCE,
            "new_day_probability": self.new_day_probability,
            "mean_new_day_probability": self.mean_new_day_probability,
            "new_day_amount": self.new_day_amount,
            "complete": self.complete,
            "offers": self.table.to_dicts(),
            "days": [self._day_document(day) for day in self.days],
            "backend": self.backend,
            "options": {"gap": self.options.gap, "time_limit": self.options.time_limit,
                        "threads": self.options.threads, "seed": self.options.seed},
            "version": __version__,
        }  # fmt: skip
        plain: dict[str, Any] = finite(document)
        return plain

    def _day_document(self, day: FlexibleDay) -> dict[str, Any]:
        return {
            "day": day.label,
            "scenario": day.scenario,
            "settings": dict(day.settings),
            "status": day.status,
            "reason": day.reason,
            "cost": day.cost,
            "most": day.most,
            "most_bound": day.most_bound,
            "power": None if day.power is None else day.power.tolist(),
            "offers": [
                {
                    "offer": offer,
                    "shed": shed.shed,
                    "cost": shed.cost,
                    "cost_lower": shed.cost_lower,
                    "price": shed.price,
                    "relaxed_price": shed.relaxed_price,
                    "status": shed.status,
                    "power": shed.power.tolist(),
                    "moves": [{**row, "slot": day.slots[row["slot"]]} for row in shed.moves.to_dicts()],
                }
                for offer, shed in zip(self.offers, day.offers, strict=False)
            ],
        }

    def csv_text(self) -> str:
        """Return the table of offers as CSV."""
        from gpusched_dsl.reporting.csv_files import csv_text

        return csv_text(self.table)

    def lines(self) -> list[str]:
        """Return the output of `gsdsl flexibility`."""
        return lines_of(self)
