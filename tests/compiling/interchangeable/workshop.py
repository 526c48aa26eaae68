"""Random small workshops: the structure of price-aware scheduling and more, in other words and with other rows.

Machines are warm or cold in each hour, make pieces of orders, or are rinsed with water.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass
class Workshop:
    """`declared` and `costs` grow with what a workshop has."""

    random: Random
    declared: list[str] = field(default_factory=list)
    costs: list[str] = field(default_factory=list)

    def has(self, chance: float) -> bool:
        return self.random.random() < chance


def random_workshop(random: Random) -> str:
    """A model with its scenario; 2 to 4 machines of one or two sizes, 2 to 4 hours, 1 or 2 orders, 0 to 2 rinses."""
    shop = Workshop(random)
    hours = random.randint(2, 4)
    stove = random.choice(("binary", "between", "none"))
    orders, rinses = random.randint(1, 2), random.choice((0, 1, 1, 2))
    if stove != "none":
        _stove(shop, stove)
    _pieces(shop)
    if rinses:
        _rinsing(shop)
    _exclusions(shop, "warm[m, t]" if stove != "none" else "1", rinses > 0)
    body = "\n".join(f"  {line}" for line in shop.declared)
    return f"""model Workshop {{
  set Machines;
  set Hours ordered;
  set Orders;
  set Rinses;
  param size[Machines];
  param was_warm[Machines] binary;
  param price[Hours];
  param pieces[Orders] integer;
  param dirt[Rinses];
{body}
  minimize cost: {" + ".join(shop.costs)};
}}
scenario Small for Workshop {{
  table Machines: size was_warm = {_table(_machines(shop))};
  table Hours: price = {_table([(str(t), random.choice((-2, 0.5, 1, 2, 3, 5))) for t in range(1, hours + 1)])};
  table Orders: pieces = {_table([(f"o{n}", random.randint(1, 3)) for n in range(orders)])};
  table Rinses: dirt = {_table([(f"r{n}", random.choice((0.5, 1.5, 2.5, 4))) for n in range(rinses)])};
}}
"""


def _table(rows: list[tuple[object, ...]]) -> str:
    return "\n    ".join(("", *(" ".join(str(cell) for cell in row) for row in rows), ""))


def _machines(shop: Workshop) -> list[tuple[object, ...]]:
    sizes = shop.random.choice(((1,), (1,), (1, 2)))
    count = shop.random.randint(2, 4)
    return [(f"m{n}", shop.random.choice(sizes), int(shop.has(0.1))) for n in range(count)]


def _stove(shop: Workshop, stove: str) -> None:
    bounds = "binary" if stove == "binary" else ">= 0 <= 1"
    before = "(warm[m, t-1] else was_warm[m])"
    shop.declared += [
        f"var warm[Machines, Hours] {bounds};",
        "var heats[Machines, Hours] >= 0;",
        f"constraint heating[m in Machines, t in Hours]: heats[m, t] >= warm[m, t] - {before};",
    ]
    shop.costs += [
        "sum[m in Machines, t in Hours] price[t] * size[m] * warm[m, t]",
        f"sum[m in Machines, t in Hours] {shop.random.choice((0, 1, 2.5))} * heats[m, t]",
    ]
    if shop.has(0.5):
        shop.declared += [
            "var wears[Machines, Hours] >= 0 <= 3;",
            "constraint up[m in Machines, t in Hours where t > 1]: wears[m, t] >= warm[m, t] - (warm[m, t-1] else 0);",
            "constraint down[m in Machines, t in Hours where t > 1]:",
            "  0.5 * wears[m, t] >= (warm[m, t-1] else 0) - warm[m, t];",
        ]
        shop.costs.append("sum[m in Machines, t in Hours] 0.7 * wears[m, t]")
    if shop.has(0.3):  # seen by a row over all machines: then `warm` must be whole
        shop.declared.append("constraint fuse[t in Hours]: sum[m in Machines] heats[m, t] <= 1;")


def _pieces(shop: Workshop) -> None:
    at_once = shop.random.choice((1, 1, 2))
    shop.declared += [
        "var makes[Orders, Machines, Hours] binary;",
        f"constraint at_once[o in Orders, t in Hours]: sum[m in Machines] makes[o, m, t] <= {at_once};",
        "constraint made[o in Orders]: sum[m in Machines, t in Hours] size[m] * makes[o, m, t] >= pieces[o];",
    ]
    shop.costs.append("sum[o in Orders, m in Machines, t in Hours] price[t] * makes[o, m, t]")
    if shop.has(0.8):
        kind = shop.random.choice((">= 0 <= 1", "binary", ">= 0"))
        shop.declared += [
            f"var setup[Orders, Machines, Hours] {kind};",
            "constraint set_up[o in Orders, m in Machines, t in Hours]:",
            "  setup[o, m, t] >= makes[o, m, t] - (makes[o, m, t-1] else 0);",
        ]
        price = shop.random.choice((0, 0.4, 2))
        shop.costs.append(f"sum[o in Orders, m in Machines, t in Hours] {price} * setup[o, m, t]")
        if shop.has(0.3):
            limit = "sum[o in Orders, m in Machines] setup[o, m, t] <= 2"
            shop.declared.append(f"constraint fitters[t in Hours]: {limit};")
    if shop.has(0.3):  # what each machine stops doing costs, not what it begins
        shop.declared += [
            "var cleans[Orders, Machines, Hours] >= 0;",
            "constraint clean[o in Orders, m in Machines, t in Hours where t > 1]:",
            "  cleans[o, m, t] >= 0.5 * (makes[o, m, t-1] else 0) - 0.5 * makes[o, m, t];",
        ]
        shop.costs.append("sum[o in Orders, m in Machines, t in Hours] cleans[o, m, t]")
    if shop.has(0.4):
        shop.declared += [
            "var last[Orders] >= -9;",
            "constraint until[o in Orders, m in Machines, t in Hours]: last[o] >= price[t] * makes[o, m, t];",
        ]
        shop.costs.append("sum[o in Orders] 0.3 * last[o]")


def _rinsing(shop: Workshop) -> None:
    shop.declared += [
        "var rinse[Rinses, Machines, Hours] binary;",
        "var water[Rinses, Machines, Hours] >= 0 <= 2.5;",
        "constraint valve[r in Rinses, m in Machines, t in Hours]: water[r, m, t] <= 2 * rinse[r, m, t];",
        "constraint rinsed[r in Rinses]: sum[m in Machines, t in Hours] water[r, m, t] == dirt[r];",
    ]
    shop.costs.append("sum[r in Rinses, m in Machines, t in Hours] (0.3 * rinse[r, m, t] + 0.1 * water[r, m, t])")
    if shop.has(0.5):
        shop.declared += [
            "var spill[Rinses, Machines, Hours] >= 0;",
            "constraint spilled[r in Rinses, m in Machines, t in Hours]:",
            "  spill[r, m, t] >= water[r, m, t] - 1.2 * rinse[r, m, t];",
            "constraint some_water[r in Rinses, m in Machines, t in Hours]: water[r, m, t] >= 0.5 * rinse[r, m, t];",
        ]
        shop.costs.append("sum[r in Rinses, m in Machines, t in Hours] spill[r, m, t]")


def _exclusions(shop: Workshop, most: str, rinses: bool) -> None:
    makes = "sum[o in Orders] makes[o, m, t]"
    relation = "==" if shop.has(0.15) and most != "1" else "<="
    if not rinses:
        shop.declared.append(f"constraint busy[m in Machines, t in Hours]: {makes} {relation} {most};")
    elif shop.has(0.5):
        rinse = "sum[r in Rinses] rinse[r, m, t]"
        shop.declared.append(f"constraint busy[m in Machines, t in Hours]: {makes} + {rinse} {relation} {most};")
        if shop.has(0.5):  # implied
            shop.declared.append(f"constraint some[o in Orders, m in Machines, t in Hours]: makes[o, m, t] <= {most};")
    else:
        both = f"rinse[r, m, t] + {makes}"
        shop.declared.append(f"constraint busy[r in Rinses, m in Machines, t in Hours]: {both} {relation} {most};")
