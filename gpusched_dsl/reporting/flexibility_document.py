"""The flexibility of a cluster as JSON."""

from __future__ import annotations

from typing import Any

from gpusched_dsl.reporting.document import finite
from gpusched_dsl.reporting.flexibility import Flexibility, FlexibleDay
from gpusched_dsl.solving.variants.guarantee import CONFIDENCE
from gpusched_dsl.version import __version__

FORMAT = "gsdsl-flexibility/1"


def flexibility_document(found: Flexibility) -> dict[str, Any]:
    """Return the document of `gsdsl flexibility --json`."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "model": found.model,
        "scenario": found.scenario,
        "power": found.power,
        "unit": found.unit,
        "money": found.money,
        "event": found.event,
        "slots": list(found.slots),
        "hours": found.hours,
        "notice": found.notice,
        "baseline": found.baseline,
        "probability": found.probability,
        "asked_days": found.asked_days,
        "required_days": found.required_days,
        "guaranteed": found.guaranteed,
        "guaranteed_bound": found.guaranteed_bound,
        "confidence": CONFIDENCE,
        "new_day_probability": found.new_day_probability,
        "mean_new_day_probability": found.mean_new_day_probability,
        "new_day_amount": found.new_day_amount,
        "complete": found.complete,
        "offers": found.table.to_dicts(),
        "days": [_day_document(found, day) for day in found.days],
        "backend": found.backend,
        "options": {"gap": found.options.gap, "time_limit": found.options.time_limit,
                    "threads": found.options.threads, "seed": found.options.seed},
        "version": __version__,
    }  # fmt: skip
    plain: dict[str, Any] = finite(document)
    return plain


def _day_document(found: Flexibility, day: FlexibleDay) -> dict[str, Any]:
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
            for offer, shed in zip(found.offers, day.offers, strict=False)
        ],
    }
