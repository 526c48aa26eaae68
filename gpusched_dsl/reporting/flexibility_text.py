"""The flexibility of a cluster as text for the terminal."""

from __future__ import annotations

from itertools import groupby

import polars as pl

from gpusched_dsl.language.text.numbers import count_text, percent_text, short, with_unit
from gpusched_dsl.reporting.flexibility import Flexibility, FlexibleDay
from gpusched_dsl.reporting.grid import Grid, GridColumn, plain
from gpusched_dsl.solving.variants.guarantee import CONFIDENCE

MOST_SHOWN = 12  # days, and jobs that move; files have all


def flexibility_lines(result: Flexibility) -> list[str]:
    """Return the guarantee, the offers with their costs, the days, and the jobs that move on the day that binds."""
    slots = f"slots {result.slots[0]} to {result.slots[-1]}" if len(result.slots) > 1 else "".join(result.slots)
    lines = [f"{result.title}: `{result.power}` in {slots or result.event}", "", *_guarantee(result)]
    if result.offers:
        lines += ["", *_grid_lines(_offer_grid(result))]
    lines += ["", *_grid_lines(_day_grid(result))]
    if len(result.days) > MOST_SHOWN:
        lines.append(f"{len(result.days) - MOST_SHOWN} more days: `--json` has all")
    return [*lines, *_moves(result), *_notes(result)]


def _guarantee(result: Flexibility) -> list[str]:
    of_days = f"of {count_text(result.asked_days, 'day')}"
    if result.guaranteed == 0:
        return [f"no shed can be guaranteed on {result.required_days} {of_days}"]
    bound, met = result.guaranteed_bound, result.met_days(result.guaranteed)
    proved = "" if bound is None else f" (proved: at most {_amount(result, bound)})"
    lines = [f"{_amount(result, result.guaranteed)} can be shed on {met} {of_days}{proved}"]
    if result.asked_days > 1:
        mean, sure = percent_text(result.mean_new_day_probability), percent_text(CONFIDENCE)
        least = percent_text(result.new_day_probability)
        lines.append(
            f"on a new day of this kind: with a probability of {mean} on average, at least {least} with "
            f"confidence {sure}"
        )
        lines.append(_for_new_day(result))
    return lines


def _for_new_day(result: Flexibility) -> str:
    """What may be offered if the asked probability is that of a new day."""
    asked = percent_text(result.probability)
    if result.probability == 1:
        return "no number of days promises every new day"
    if result.new_day_amount == 0:
        return f"too few of these days for a promise that a new day keeps with {asked}"
    return f"a new day keeps {_amount(result, result.new_day_amount)} with a probability of {asked} on average"


def _amount(result: Flexibility, amount: float) -> str:
    return with_unit(short(amount), result.unit)


def _offer_grid(result: Flexibility) -> Grid:
    table, unit, money = result.table, result.unit, result.money
    each = f"[{money}/{unit or 'unit'}]"

    def column(header: str, name: str, optional: int = 0) -> GridColumn:
        return GridColumn(header, [short(v) for v in table[name].to_list()], right=True, optional=optional)

    return Grid(
        (
            column(f"offer [{unit}]" if unit else "offer", "offer"),
            column("days", "days"),
            column(f"cost [{money}]", "cost"),
            column(f"at least [{money}]", "cost_lower", 2),
            column(f"worst day [{money}]", "worst", 1),
            column(f"cost {each}", "per_unit"),
            column(f"step {each}", "step"),
            column(f"dual {each}", "price"),
            column(f"relaxed dual {each}", "relaxed_price"),
        )
    )


def _day_grid(result: Flexibility) -> Grid:
    table = result.day_table.head(MOST_SHOWN)
    unit = f" [{result.unit}]" if result.unit else ""
    return Grid(
        (
            GridColumn("day", table["day"].to_list(), wraps=True),
            GridColumn(f"baseline [{result.money}]", [short(v) for v in table["cost"].to_list()], right=True),
            GridColumn(f"drawn{unit}", [short(v) for v in table["drawn"].to_list()], right=True),
            GridColumn(f"largest shed{unit}", [short(v) for v in table["most"].to_list()], right=True),
            GridColumn(f"proved at most{unit}", [short(v) for v in table["most_bound"].to_list()], right=True),
            GridColumn("status", table["status"].to_list()),
        )
    )


def _grid_lines(grid: Grid) -> list[str]:
    return plain(grid).rstrip("\n").split("\n")


def _moves(result: Flexibility) -> list[str]:
    """The jobs that move for the largest guaranteed offer on the day with the least to shed among those that can."""
    chosen = [at for at, ok in enumerate(result.table["guaranteed"].to_list()) if ok]
    days = [day for day in result.days if day.offers and day.most >= result.guaranteed > 0]
    if not chosen or not days:
        return []
    day = min(days, key=lambda one: one.most)
    if len(day.offers) <= chosen[-1]:
        return []
    offer, shed = result.offers[chosen[-1]], day.offers[chosen[-1]]
    head = f"on the day with the least to shed, {day.label}, for {_amount(result, offer)}"
    parts = shed.moves.partition_by("job", maintain_order=True)
    if not parts:
        return ["", f"{head}: no job moves"]
    rows = [(part["job"][0], _where(part, day, False), _where(part, day, True)) for part in parts[:MOST_SHOWN]]
    grid = Grid(
        (
            GridColumn("job", [job for job, _, _ in rows]),
            GridColumn("leaves slots", [left for _, left, _ in rows], wraps=True),
            GridColumn("takes slots", [taken for _, _, taken in rows], wraps=True),
        )
    )
    more = len(parts) - MOST_SHOWN
    tail = [f"{count_text(more, 'more job')}: `--json` has all"] if more > 0 else []
    return ["", f"{head}: {count_text(len(parts), 'job moves', 'jobs move')}", *_grid_lines(grid), *tail]


def _where(part: pl.DataFrame, day: FlexibleDay, with_event: bool) -> str:
    """Runs of slots by place: `17..20 on RTX2060; 25 on RTX2060`."""
    rows = part.filter(pl.col("with_event") == with_event).sort("place", "slot")
    texts = []
    for place, group in groupby(rows.select("place", "slot").iter_rows(), key=lambda row: row[0]):
        slots = [slot for _, slot in group]
        runs = [list(run) for _, run in groupby(enumerate(slots), key=lambda pair: pair[1] - pair[0])]
        spans = [(day.slots[run[0][1]], day.slots[run[-1][1]]) for run in runs]
        listed = ", ".join(first if first == last else f"{first}..{last}" for first, last in spans)
        texts.append(f"{listed} on {place}" if place else listed)
    return "; ".join(texts) or "-"


def _notes(result: Flexibility) -> list[str]:
    notes = []
    without = [day for day in result.days if day.cost is None]
    if without:
        notes.append(f"without a plan, so without a shed: {', '.join(day.label for day in without[:MOST_SHOWN])}")
    if len(result.days) < result.asked_days:
        left = count_text(result.asked_days - len(result.days), "day was", "days were")
        notes.append(f"the work ended early: {left} not planned, and count as days without a shed")
    elif not result.complete:
        notes.append("the work ended early: costs and prices are those of the days on which all offers were planned")
    return ["", *notes] if notes else []
