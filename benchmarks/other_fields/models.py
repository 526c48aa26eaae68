"""Thirty models of other fields, drawn with a fixed seed: texts for `gsdsl solve`, with their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

Table = NDArray[np.int64]
Maker = Callable[[Generator], "Drawn"]
LARGE = 5_000  # entries, above which a table is a file


@dataclass(frozen=True)
class Drawn:
    """The sizes of the sets, the tables by the declarations of their parameters (`cost[I, J]`), and the statements."""

    sets: dict[str, int]
    tables: dict[str, Table]
    body: str

    def write(self, folder: Path, name: str) -> Path:
        """Write the model and its scenario, with large tables in files beside the text; return the path of the text."""
        lines = [f"model {name} {{", *(f"  set {each} = 1..{size};" for each, size in self.sets.items())]
        lines += [f"  param {each};" for each in self.tables]
        lines += [f"  {line}" for line in self.body.strip().splitlines()]
        lines += ["}", f"scenario Drawn for {name} {{"]
        for each, table in self.tables.items():
            if table.size > LARGE:
                column, _, keys = each.rstrip("]").partition("[")
                keys = ", ".join(f"{key.strip().lower()}{place}" for place, key in enumerate(keys.split(",")))
                _write_table(folder / f"{name}_{column}.csv", [*keys.split(", "), column], table)
                lines.append(f'  data "{name}_{column}.csv" {{ {column}[{keys}] = {column}; }}')
            else:
                lines.append(f"  {_table(each, table)}")
        path = folder / f"{name}.gsm"
        path.write_text("\n".join([*lines, "}", ""]), encoding="utf-8")
        return path


def _write_table(path: Path, columns: list[str], table: Table) -> None:
    places = np.indices(table.shape).reshape(table.ndim, -1) + 1
    rows = np.vstack([places, table.ravel()]).T
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=",".join(columns), comments="")


def _table(declaration: str, table: Table) -> str:
    columns = " ".join(str(place) for place in range(1, table.shape[-1] + 1))
    if table.ndim == 1:
        return f"table {declaration}: {columns} = {' '.join(map(str, table))};"
    rows = "\n    ".join(f"{place} {' '.join(map(str, row))}" for place, row in enumerate(table, 1))
    return f"table {declaration}: {columns} =\n    {rows};"


def _points(rng: Generator, count: int) -> Table:
    """Rounded distances between points of a square."""
    places = rng.integers(0, 100, (count, 2))
    found: Table = np.rint(np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))).astype(np.int64)
    return found


def lot_sizing(rng: Generator) -> Drawn:
    items, periods = 6, 12
    need = rng.integers(0, 60, (items, periods)) * (rng.random((items, periods)) < 0.8)
    need[:, 0] = 0
    tables = {
        "demand[I, T]": need, "setup[I]": rng.integers(100, 300, items), "hold[I]": rng.integers(1, 8, items),
        "time[I]": rng.integers(5, 15, items), "room[T]": np.full(periods, int(need.sum() / periods * 1.1 + 40)),
    }  # fmt: skip
    return Drawn(
        {"I": items, "T": periods},
        tables,
        """
var make[I, T] >= 0;  var stock[I, T] >= 0;  var on[I, T] binary;
minimize cost: sum[i in I, t in T] (setup[i] * on[i, t] + hold[i] * stock[i, t]);
constraint balance[i in I, t in T]: (if t > 1 then stock[i, t-1] else 0) + make[i, t] == demand[i, t] + stock[i, t];
constraint linked[i in I, t in T]: make[i, t] <= (sum[s in T where s >= t] demand[i, s]) * on[i, t];
constraint capacity[t in T]: sum[i in I] (make[i, t] + time[i] * on[i, t]) <= room[t];""",
    )


def facility_location(rng: Generator) -> Drawn:
    sites, clients = 50, 150
    tables = {
        "open_cost[I]": rng.integers(200, 500, sites), "cost[I, J]": rng.integers(5, 100, (sites, clients)),
        "room[I]": rng.integers(80, 160, sites), "need[J]": rng.integers(5, 20, clients),
    }  # fmt: skip
    return Drawn(
        {"I": sites, "J": clients},
        tables,
        """
var open[I] binary;  var part[I, J] >= 0 <= 1;
minimize cost_of_all: sum[i in I] open_cost[i] * open[i] + sum[i in I, j in J] cost[i, j] * part[i, j];
constraint served[j in J]: sum[i in I] part[i, j] == 1;
constraint linked[i in I, j in J]: part[i, j] <= open[i];
constraint capacity[i in I]: sum[j in J] need[j] * part[i, j] <= room[i] * open[i];""",
    )


def transport(rng: Generator) -> Drawn:
    size = 500
    need = rng.integers(10, 50, size)
    tables = {"supply[I]": need + 5, "need[J]": need, "cost[I, J]": rng.integers(1, 100, (size, size))}
    return Drawn(
        {"I": size, "J": size},
        tables,
        """
var flow[I, J] >= 0;
minimize total: sum[i in I, j in J] cost[i, j] * flow[i, j];
constraint sent[i in I]: sum[j in J] flow[i, j] <= supply[i];
constraint received[j in J]: sum[i in I] flow[i, j] >= need[j];""",
    )


def unrelated_machines(rng: Generator) -> Drawn:
    return Drawn(
        {"M": 8, "J": 60},
        {"time[M, J]": rng.integers(10, 100, (8, 60))},
        """
var run[M, J] binary;  var last >= 0;
minimize makespan: last;
constraint once[j in J]: sum[m in M] run[m, j] == 1;
constraint load[m in M]: sum[j in J] time[m, j] * run[m, j] <= last;""",
    )


def assignment(rng: Generator) -> Drawn:
    return Drawn(
        {"I": 200, "J": 200},
        {"cost[I, J]": rng.integers(1, 1000, (200, 200))},
        """
var use[I, J] binary;
minimize total: sum[i in I, j in J] cost[i, j] * use[i, j];
constraint rows[i in I]: sum[j in J] use[i, j] == 1;
constraint columns[j in J]: sum[i in I] use[i, j] == 1;""",
    )


def generalised_assignment(rng: Generator) -> Drawn:
    load = rng.integers(5, 26, (8, 48))
    tables = {
        "cost[M, J]": rng.integers(10, 51, (8, 48)),
        "load[M, J]": load,
        "room[M]": (0.8 * load.sum(axis=1) / 8).astype(int),
    }
    return Drawn(
        {"M": 8, "J": 48},
        tables,
        """
var run[M, J] binary;
minimize total: sum[m in M, j in J] cost[m, j] * run[m, j];
constraint once[j in J]: sum[m in M] run[m, j] == 1;
constraint capacity[m in M]: sum[j in J] load[m, j] * run[m, j] <= room[m];""",
    )


def knapsack(rng: Generator) -> Drawn:
    weight = rng.integers(100, 1000, 500)
    tables = {"worth[I]": weight + rng.integers(-50, 50, 500), "weight[I]": weight}
    return Drawn(
        {"I": 500},
        tables,
        f"""
var take[I] binary;
maximize total: sum[i in I] worth[i] * take[i];
constraint room: sum[i in I] weight[i] * take[i] <= {weight.sum() // 3};""",
    )


def several_knapsacks(rng: Generator) -> Drawn:
    weight = rng.integers(1, 1000, (5, 50))
    tables = {
        "worth[I]": weight.sum(axis=0) // 5 + rng.integers(0, 500, 50),
        "weight[K, I]": weight,
        "room[K]": weight.sum(axis=1) // 2,
    }
    return Drawn(
        {"K": 5, "I": 50},
        tables,
        """
var take[I] binary;
maximize total: sum[i in I] worth[i] * take[i];
constraint fits[k in K]: sum[i in I] weight[k, i] * take[i] <= room[k];""",
    )


def set_cover(rng: Generator) -> Drawn:
    inside = (rng.random((120, 400)) < 0.05).astype(np.int64)
    inside[np.arange(120), rng.integers(0, 400, 120)] = 1
    return Drawn(
        {"E": 120, "S": 400},
        {"cost[S]": rng.integers(1, 100, 400), "inside[E, S]": inside},
        """
var take[S] binary;
minimize total: sum[s in S] cost[s] * take[s];
constraint covered[e in E]: sum[s in S where inside[e, s] == 1] take[s] >= 1;""",
    )


def set_packing(rng: Generator) -> Drawn:
    inside = (rng.random((80, 300)) < 0.04).astype(np.int64)
    return Drawn(
        {"E": 80, "S": 300},
        {"worth[S]": rng.integers(1, 100, 300), "inside[E, S]": inside},
        """
var take[S] binary;
maximize total: sum[s in S] worth[s] * take[s];
constraint disjoint[e in E]: sum[s in S where inside[e, s] == 1] take[s] <= 1;""",
    )


def independent_set(rng: Generator) -> Drawn:
    edge = np.triu(rng.random((60, 60)) < 0.15, 1).astype(np.int64)
    return Drawn(
        {"V": 60},
        {"worth[V]": rng.integers(1, 20, 60), "edge[V, V]": edge},
        """
var take[V] binary;
maximize total: sum[v in V] worth[v] * take[v];
constraint apart[u in V, v in V where edge[u, v] == 1]: take[u] + take[v] <= 1;""",
    )


def colouring(rng: Generator) -> Drawn:
    edge = np.triu(rng.random((25, 25)) < 0.35, 1).astype(np.int64)
    return Drawn(
        {"V": 25, "C": 8},
        {"edge[V, V]": edge},
        """
var paint[V, C] binary;  var used[C] binary;
minimize colours: sum[c in C] used[c];
constraint once[v in V]: sum[c in C] paint[v, c] == 1;
constraint apart[u in V, v in V, c in C where edge[u, v] == 1]: paint[u, c] + paint[v, c] <= used[c];
constraint in_order[c in C where c > 1]: used[c] <= used[c-1];""",
    )


def travelling_salesman(rng: Generator) -> Drawn:
    return Drawn(
        {"C": 16},
        {"way[C, C]": _points(rng, 16)},
        """
var go[i in C, j in C where i != j] binary;  var turn[C] >= 1 <= 16;
minimize total: sum[i in C, j in C where i != j] way[i, j] * go[i, j];
constraint leave[i in C]: sum[j in C where i != j] go[i, j] == 1;
constraint enter[j in C]: sum[i in C where i != j] go[i, j] == 1;
constraint first: turn[1] == 1;
constraint later[i in C, j in C where i != j and j > 1]: turn[j] >= turn[i] + 1 - 16 * (1 - go[i, j]);""",
    )


def job_shop(rng: Generator) -> Drawn:
    order = np.array([rng.permutation(5) + 1 for _ in range(6)])
    return Drawn(
        {"J": 6, "K": 5},
        {"machine[J, K]": order, "time[J, K]": rng.integers(5, 30, (6, 5))},
        """
var start[J, K] >= 0 <= 400;  var end >= 0 <= 500;
var before[i in J, j in J, k in K, l in K where i < j and machine[i, k] == machine[j, l]] binary;
minimize makespan: end;
constraint chain[j in J, k in K where k > 1]: start[j, k] >= start[j, k-1] + time[j, k-1];
constraint last[j in J]: end >= start[j, 5] + time[j, 5];
constraint one[i in J, j in J, k in K, l in K where i < j and machine[i, k] == machine[j, l]]:
  start[j, l] >= start[i, k] + time[i, k] - 430 * (1 - before[i, j, k, l]);
constraint other[i in J, j in J, k in K, l in K where i < j and machine[i, k] == machine[j, l]]:
  start[i, k] >= start[j, l] + time[j, l] - 430 * before[i, j, k, l];""",
    )


def flow_shop(rng: Generator) -> Drawn:
    return Drawn(
        {"J": 9, "P": 9, "M": 4},
        {"time[J, M]": rng.integers(5, 40, (9, 4))},
        """
var at[J, P] binary;  var done[P, M] >= 0;
minimize makespan: done[9, 4];
constraint once[j in J]: sum[p in P] at[j, p] == 1;
constraint one[p in P]: sum[j in J] at[j, p] == 1;
constraint first[m in M]: done[1, m] >= sum[j in J, k in M where k <= m] time[j, k] * at[j, 1];
constraint machine_free[p in P, m in M where p > 1]: done[p, m] >= done[p-1, m] + sum[j in J] time[j, m] * at[j, p];
constraint job_ready[p in P, m in M where m > 1]: done[p, m] >= done[p, m-1] + sum[j in J] time[j, m] * at[j, p];""",
    )


def project(rng: Generator) -> Drawn:
    """Resource-constrained project scheduling by slots."""
    after = np.triu(rng.random((16, 16)) < 0.15, 1).astype(np.int64)
    tables = {"after[J, J]": after, "time[J]": rng.integers(1, 6, 16), "need[J, R]": rng.integers(0, 5, (16, 2))}
    return Drawn(
        {"J": 16, "R": 2, "T": 45},
        tables,
        """
var start[J, T] binary;  var end >= 0;
let begin[j in J] = sum[t in T] t * start[j, t];
minimize makespan: end;
constraint once[j in J]: sum[t in T] start[j, t] == 1;
constraint last[j in J]: end >= begin[j] + time[j] - 1;
constraint in_order[i in J, j in J where after[i, j] == 1]: begin[j] >= begin[i] + time[i];
constraint room[r in R, t in T]: sum[j in J, s in T where s <= t and t < s + time[j]] need[j, r] * start[j, s] <= 8;""",
    )


def network_design(rng: Generator) -> Drawn:
    demand = np.zeros(20, np.int64)
    demand[1:] = rng.integers(1, 10, 19)
    tables = {
        "build[V, V]": rng.integers(20, 100, (20, 20)),
        "carry[V, V]": rng.integers(1, 10, (20, 20)),
        "need[V]": demand,
    }
    return Drawn(
        {"V": 20},
        tables,
        f"""
var use[i in V, j in V where i != j] binary;  var flow[i in V, j in V where i != j] >= 0;
minimize total: sum[i in V, j in V where i != j] (build[i, j] * use[i, j] + carry[i, j] * flow[i, j]);
constraint kept[v in V where v > 1]:
  sum[i in V where i != v] flow[i, v] - sum[j in V where j != v] flow[v, j] == need[v];
constraint linked[i in V, j in V where i != j]: flow[i, j] <= {demand.sum()} * use[i, j];""",
    )


def cheapest_flow(rng: Generator) -> Drawn:
    tables = {"cost[V, V]": rng.integers(1, 100, (120, 120)), "room[V, V]": rng.integers(0, 20, (120, 120))}
    return Drawn(
        {"V": 120},
        tables,
        """
var flow[i in V, j in V where i != j] >= 0 <= room[i, j];
minimize total: sum[i in V, j in V where i != j] cost[i, j] * flow[i, j];
constraint kept[v in V]: sum[j in V where j != v] flow[v, j] - sum[i in V where i != v] flow[i, v]
  == (if v == 1 then 200 else 0) - (if v == 120 then 200 else 0);""",
    )


def several_commodities(rng: Generator) -> Drawn:
    tables = {
        "cost[V, V]": rng.integers(1, 100, (24, 24)),
        "room[V, V]": rng.integers(4, 20, (24, 24)),
        "amount[K]": rng.integers(5, 12, 12),
    }
    return Drawn(
        {"V": 24, "K": 12},
        tables,
        """
var flow[k in K, i in V, j in V where i != j] >= 0;
minimize total: sum[k in K, i in V, j in V where i != j] cost[i, j] * flow[k, i, j];
constraint kept[k in K, v in V]: sum[j in V where j != v] flow[k, v, j] - sum[i in V where i != v] flow[k, i, v]
  == (if v == k then amount[k] else 0) - (if v == k + 12 then amount[k] else 0);
constraint capacity[i in V, j in V where i != j]: sum[k in K] flow[k, i, j] <= room[i, j];""",
    )


def diet(rng: Generator) -> Drawn:
    tables = {
        "cost[F]": rng.integers(10, 100, 200),
        "holds[F, N]": rng.integers(0, 50, (200, 30)),
        "need[N]": rng.integers(200, 900, 30),
    }
    return Drawn(
        {"F": 200, "N": 30},
        tables,
        """
var eat[F] >= 0 <= 10;
minimize total: sum[f in F] cost[f] * eat[f];
constraint enough[n in N]: sum[f in F] holds[f, n] * eat[f] >= need[n];""",
    )


def production(rng: Generator) -> Drawn:
    tables = {
        "gain[P]": rng.integers(10, 60, 60), "use[P, R]": rng.integers(0, 9, (60, 20)),
        "room[R]": rng.integers(300, 900, 20), "most[P, T]": rng.integers(5, 40, (60, 24)),
    }  # fmt: skip
    return Drawn(
        {"P": 60, "R": 20, "T": 24},
        tables,
        """
var make[p in P, t in T] >= 0;  var sell[p in P, t in T] >= 0 <= most[p, t];  var stock[P, T] >= 0;
maximize profit: sum[p in P, t in T] (gain[p] * sell[p, t] - 0.5 * stock[p, t] - 2 * make[p, t]);
constraint room_of[r in R, t in T]: sum[p in P] use[p, r] * make[p, t] <= room[r];
constraint kept[p in P, t in T]: (if t > 1 then stock[p, t-1] else 0) + make[p, t] == sell[p, t] + stock[p, t];""",
    )


def unit_commitment(rng: Generator) -> Drawn:
    most = rng.integers(50, 200, 12)
    wave = 0.45 + 0.25 * np.sin(np.arange(24) / 24 * 2 * np.pi)
    tables = {
        "most[G]": most, "least[G]": most // 3, "fuel[G]": rng.integers(10, 40, 12),
        "start_cost[G]": rng.integers(200, 900, 12), "idle[G]": rng.integers(50, 200, 12),
        "demand[T]": (wave * most.sum()).astype(np.int64),
    }  # fmt: skip
    return Drawn(
        {"G": 12, "T": 24},
        tables,
        """
var on[G, T] binary;  var begin[G, T] binary;  var power[G, T] >= 0;
minimize total: sum[g in G, t in T] (fuel[g] * power[g, t] + idle[g] * on[g, t] + start_cost[g] * begin[g, t]);
constraint met[t in T]: sum[g in G] power[g, t] == demand[t];
constraint at_most[g in G, t in T]: power[g, t] <= most[g] * on[g, t];
constraint at_least[g in G, t in T]: power[g, t] >= least[g] * on[g, t];
constraint started[g in G, t in T where t > 1]: begin[g, t] >= on[g, t] - on[g, t-1];
constraint up[g in G, t in T, s in T where s >= t and s < t + 4]: on[g, s] >= begin[g, t];""",
    )


def medians(rng: Generator) -> Drawn:
    return Drawn(
        {"V": 60},
        {"way[V, V]": _points(rng, 60)},
        """
var open[V] binary;  var serve[V, V] binary;
minimize total: sum[i in V, j in V] way[i, j] * serve[i, j];
constraint served[j in V]: sum[i in V] serve[i, j] == 1;
constraint linked[i in V, j in V]: serve[i, j] <= open[i];
constraint count_of: sum[i in V] open[i] == 6;""",
    )


def centres(rng: Generator) -> Drawn:
    return Drawn(
        {"V": 30},
        {"way[V, V]": _points(rng, 30)},
        """
var open[V] binary;  var serve[V, V] binary;  var far >= 0;
minimize radius: far;
constraint served[j in V]: sum[i in V] serve[i, j] == 1;
constraint linked[i in V, j in V]: serve[i, j] <= open[i];
constraint reach[j in V]: sum[i in V] way[i, j] * serve[i, j] <= far;
constraint count_of: sum[i in V] open[i] == 4;""",
    )


def largest_cover(rng: Generator) -> Drawn:
    near = (_points(rng, 100) < 18).astype(np.int64)
    return Drawn(
        {"V": 100},
        {"people[V]": rng.integers(1, 100, 100), "near[V, V]": near},
        """
var open[V] binary;  var reached[V] binary;
maximize total: sum[v in V] people[v] * reached[v];
constraint by_one[v in V]: reached[v] <= sum[u in V where near[u, v] == 1] open[u];
constraint count_of: sum[v in V] open[v] == 8;""",
    )


def cutting_stock(rng: Generator) -> Drawn:
    return Drawn(
        {"I": 8, "R": 14},
        {"size[I]": rng.integers(20, 60, 8), "need[I]": rng.integers(2, 6, 8)},
        """
var cut[I, R] integer >= 0 <= 5;  var used[R] binary;
minimize rolls: sum[r in R] used[r];
constraint enough[i in I]: sum[r in R] cut[i, r] >= need[i];
constraint fits[r in R]: sum[i in I] size[i] * cut[i, r] <= 120 * used[r];""",
    )


def sudoku(rng: Generator) -> Drawn:
    shift = np.add.outer(np.arange(9) * 3 % 9 + np.arange(9) // 3, np.arange(9)) % 9
    given = (rng.permutation(9)[shift] + 1) * (rng.random((9, 9)) < 0.35)
    return Drawn(
        {"R": 9, "C": 9, "D": 9, "B": 3},
        {"given[R, C]": given},
        """
var digit[R, C, D] binary;
minimize nothing: 0 * digit[1, 1, 1];
constraint cell[r in R, c in C]: sum[d in D] digit[r, c, d] == 1;
constraint row[r in R, d in D]: sum[c in C] digit[r, c, d] == 1;
constraint column[c in C, d in D]: sum[r in R] digit[r, c, d] == 1;
constraint box[a in B, b in B, d in D]:
  sum[r in R, c in C where r > 3*a - 3 and r <= 3*a and c > 3*b - 3 and c <= 3*b] digit[r, c, d] == 1;
constraint shown[r in R, c in C, d in D where given[r, c] == d]: digit[r, c, d] == 1;""",
    )


def queens(rng: Generator) -> Drawn:
    return Drawn(
        {"R": 14, "C": 14, "D": 27},
        {"worth[R, C]": rng.integers(1, 100, (14, 14))},
        """
var queen[R, C] binary;
maximize total: sum[r in R, c in C] worth[r, c] * queen[r, c];
constraint row[r in R]: sum[c in C] queen[r, c] == 1;
constraint column[c in C]: sum[r in R] queen[r, c] == 1;
constraint falling[d in D]: sum[r in R, c in C where r - c + 14 == d] queen[r, c] <= 1;
constraint rising[d in D]: sum[r in R, c in C where r + c - 1 == d] queen[r, c] <= 1;""",
    )


def nurses(rng: Generator) -> Drawn:
    tables = {"wish[N, D]": rng.integers(0, 10, (14, 14)), "need[S]": np.array([4, 3, 2])}
    return Drawn(
        {"N": 14, "D": 14, "S": 3},
        tables,
        """
var work[N, D, S] binary;
maximize wishes: sum[n in N, d in D, s in S] (wish[n, d] + s) * work[n, d, s];
constraint enough[d in D, s in S]: sum[n in N] work[n, d, s] == need[s];
constraint one[n in N, d in D]: sum[s in S] work[n, d, s] <= 1;
constraint rest[n in N, d in D where d > 1]: work[n, d-1, 3] + work[n, d, 1] <= 1;
constraint week[n in N]: sum[d in D, s in S] work[n, d, s] <= 10;""",
    )


def quadratic_assignment(rng: Generator) -> Drawn:
    return Drawn(
        {"F": 6, "P": 6},
        {"flow[F, F]": rng.integers(0, 10, (6, 6)), "way[P, P]": _points(rng, 6)},
        """
var at[F, P] binary;  var both[f in F, g in F, p in P, q in P where f != g and p != q] >= 0 <= 1;
minimize total: sum[f in F, g in F, p in P, q in P where f != g and p != q] flow[f, g] * way[p, q] * both[f, g, p, q];
constraint once[f in F]: sum[p in P] at[f, p] == 1;
constraint one[p in P]: sum[f in F] at[f, p] == 1;
constraint linked[f in F, g in F, p in P where f != g]: sum[q in P where q != p] both[f, g, p, q] == at[f, p];
constraint same[f in F, g in F, p in P, q in P where f < g and p != q]: both[f, g, p, q] == both[g, f, q, p];""",
    )


MAKERS: dict[str, Maker] = {
    "LotSizing": lot_sizing, "FacilityLocation": facility_location, "Transport": transport,
    "UnrelatedMachines": unrelated_machines, "Assignment": assignment, "GeneralisedAssignment": generalised_assignment,
    "Knapsack": knapsack, "SeveralKnapsacks": several_knapsacks, "SetCover": set_cover, "SetPacking": set_packing,
    "IndependentSet": independent_set, "Colouring": colouring, "TravellingSalesman": travelling_salesman,
    "JobShop": job_shop, "FlowShop": flow_shop, "Project": project, "NetworkDesign": network_design,
    "CheapestFlow": cheapest_flow, "SeveralCommodities": several_commodities, "Diet": diet, "Production": production,
    "UnitCommitment": unit_commitment, "Medians": medians, "Centres": centres, "LargestCover": largest_cover,
    "CuttingStock": cutting_stock, "Sudoku": sudoku, "Queens": queens, "Nurses": nurses,
    "QuadraticAssignment": quadratic_assignment,
}  # fmt: skip


def write(name: str, folder: Path) -> Path:
    """Write a model, always with the same data; return the path of its text. Raises KeyError for an unknown name."""
    return MAKERS[name](default_rng(1 + list(MAKERS).index(name))).write(folder, name)
