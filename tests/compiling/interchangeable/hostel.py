"""Random small systems of one element: hosts with rooms of kinds, guests that stay in one room, with random rows.

In half of them guests have sizes, so that they are alike in classes only.
"""

from __future__ import annotations

from random import Random


def random_hostel(random: Random) -> str:
    """2 to 4 hosts of one or two sizes, 1 to 3 guests, 1 or 2 kinds of rooms; rows of guests and rows over all."""
    rows, costs = ["constraint once[g in Guests]: sum[h in Hosts, k in Kinds] stays[g, h, k] RELATION 1;"], list[str]()
    kinds, guests = random.randint(1, 2), random.randint(1, 3)
    most = random.choice((1, 1, 2))
    binary = "binary" if most == 1 else f"integer >= 0 <= {most}"
    bounds = f"integer >= {random.choice((-1, 1))} <= 1" if random.random() < 0.15 else binary
    if random.random() < 0.8:
        rows.append("constraint there[g in Guests, h in Hosts, k in Kinds]: stays[g, h, k] <= rooms[h, k];")
    if random.random() < 0.8:
        extra = random.choice(("", f"+ {random.choice((1, 2))} * sum[g in Guests] eats[g, h]"))
        extra = extra if random.random() < 0.5 else ""
        taken = f"sum[g in Guests, k in Kinds] size[g] * need[k] * stays[g, h, k] {extra}"
        rows.append(f"constraint beds[h in Hosts]: {taken} <= room[h];")
    if random.random() < 0.5:
        rows.append("constraint kinds[h in Hosts]: sum[k in Kinds] rooms[h, k] <= 1;")
    if random.random() < 0.3:
        rows.append("constraint full[h in Hosts, k in Kinds]: sum[g in Guests] stays[g, h, k] >= rooms[h, k];")
    if random.random() < 0.2:
        rows.append(
            "constraint even[h in Hosts]: sum[g in Guests, k in Kinds] stays[g, h, k] == sum[k in Kinds] rooms[h, k];"
        )
    if random.random() < 0.3:
        rows.append("constraint dine[g in Guests, h in Hosts]: eats[g, h] == sum[k in Kinds] stays[g, h, k];")
    else:
        rows.append("constraint dine[g in Guests, h in Hosts]: eats[g, h] <= sum[k in Kinds] stays[g, h, k];")
    if random.random() < 0.3:
        rows.append("constraint heat: sum[h in Hosts, k in Kinds] rooms[h, k] <= 2;")
    if random.random() < 0.3:
        rows.append("constraint fed: sum[g in Guests, h in Hosts] eats[g, h] >= 1;")
    costs.append("sum[h in Hosts, k in Kinds] rent[k] * rooms[h, k]")
    costs.append("sum[g in Guests, h in Hosts, k in Kinds] likes[g, k] * stays[g, h, k]")
    costs.append("sum[g in Guests, h in Hosts] 0.3 * eats[g, h]")
    sense = random.choice(("minimize", "maximize"))
    sizes = random.choice(((2,), (3,), (2, 3), (2, 3)))
    hosts = "\n".join(f"    h{n} {random.choice(sizes)}" for n in range(random.randint(2, 4)))
    rents = "\n".join(f"    k{n} {random.choice((1, 2))} {random.choice((-1, 0.5, 2))}" for n in range(kinds))
    likes = "\n".join(f"    g{g} k{k} {random.choice((-3, -1.5, 0.2, 1))}" for g in range(guests) for k in range(kinds))
    common = random.random() < 0.5
    sizes_of = "\n".join(f"    g{g} {1 if common else random.choice((1, 1, 2))}" for g in range(guests))
    body = "\n".join(f"  {row}" for row in rows).replace("RELATION", random.choice(("<=", "<=", "==")))
    return f"""model Hostel {{
  set Hosts;
  set Guests;
  set Kinds;
  param room[Hosts];
  param need[Kinds];
  param size[Guests];
  param rent[Kinds];
  param likes[Guests, Kinds];
  var rooms[Hosts, Kinds] {bounds};
  var stays[Guests, Hosts, Kinds] binary;
  var eats[Guests, Hosts] binary;
{body}
  {sense} cost: {" + ".join(costs)};
}}
scenario Small for Hostel {{
  table Hosts: room =
{hosts} ;
  table Kinds: need rent =
{rents} ;
  table Guests: size =
{sizes_of} ;
  table Guests, Kinds: likes =
{likes} ;
}}
"""
