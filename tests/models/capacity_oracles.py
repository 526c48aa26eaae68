"""The worked instances CP-1 to CP-10, CP-F, CP-S and CP-LS, each with its optimum under each node rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

from capacity_reference import Instance

RULES = ("paper", "force", "at_most")


@dataclass(frozen=True)
class Oracle:
    """`optimum` by node rule, in $; `winners` is the number of optimal schedules where it is known."""

    name: str
    instance: Instance
    optimum: dict[str, float]
    deadline_terms: str = "corrected"
    winners: int | None = None


def same(value: float, *rules: str) -> dict[str, float]:
    return dict.fromkeys(rules or RULES, value)


def times(**rows: dict[str, list[float]]) -> dict[tuple[str, str, int], float]:
    """`times(J1={"A": [4], "B": [4, 2.4]})`: hours on 1, 2, ... GPUs."""
    return {(j, v, g): t for j, row in rows.items() for v, ts in row.items() for g, t in enumerate(ts, start=1)}


GPUS = {"A": 1, "B": 2, "C": 4, "D": 4}
PRICE = {"A": 0.5, "B": 1.0, "C": 2.0, "D": 2.0}


def instance(
    types: str,
    nodes: int,
    rows: dict[str, dict[str, list[float]]],
    due: dict[str, float],
    weight: dict[str, float],
    **rest: float,
) -> Instance:
    gpus, price = {v: GPUS[v] for v in types}, {v: PRICE[v] for v in types}
    return Instance(nodes, gpus, price, due, weight, times(**rows), **rest)


CP1 = instance("AB", 1, {"J1": {"A": [4], "B": [4, 2.4]}}, {"J1": 3}, {"J1": 1})
CP3 = instance("A", 1, {"J1": {"A": [2]}, "J2": {"A": [2]}}, {"J1": 2, "J2": 2.5}, {"J1": 1, "J2": 0.5})
CP4 = instance(
    "C", 1, {"J1": {"C": [4, 2.4, 1.8, 1.5]}, "J2": {"C": [3, 1.8, 1.4, 1.2]}}, {"J1": 4, "J2": 3}, {"J1": 1, "J2": 1}
)
CP6 = instance("B", 3, {"J1": {"B": [2, 1.9]}, "J2": {"B": [2, 1.9]}}, {"J1": 2, "J2": 2}, {"J1": 1, "J2": 1})
CP7 = Instance(1, {"NC6": 1}, {"NC6": 0.56}, {"J1": 20}, {"J1": 1}, {("J1", "NC6", 1): 10})
CP8 = instance("A", 1, {"J1": {"A": [2]}, "J2": {"A": [2]}}, {"J1": -3, "J2": 0.5}, {"J1": 0.5, "J2": 1})
CP9 = instance(
    "D",
    2,
    {"J1": {"D": [8, 4.5, 3, 2.8]}, "J2": {"D": [8, 4.5, 3, 2.8]}, "J3": {"D": [5, 3, 2.4, 2.1]}},
    dict.fromkeys(("J1", "J2", "J3"), 3),
    dict.fromkeys(("J1", "J2", "J3"), 2),
)
CP10 = Instance(
    2,
    {"A'": 1, "B'": 2, "C'": 4},
    {"A'": 0.6, "B'": 1.0, "C'": 1.6},
    {"J1": 2, "J2": 6, "J3": 4},
    {"J1": 1.0, "J2": 0.5, "J3": 0.8},
    times(
        J1={"A'": [3], "B'": [3.5, 2], "C'": [4, 2.5, 1.9, 1.6]},
        J2={"A'": [5], "B'": [6, 3.5], "C'": [7, 4, 3.2, 2.8]},
        J3={"A'": [2], "B'": [2.5, 1.5], "C'": [3, 1.8, 1.4, 1.2]},
    ),
)
CPF = Instance(
    1,
    {"v1": 4, "v2": 4, "v3": 8},
    {"v1": 0.2, "v2": 0.3, "v3": 0.5},
    {"j1": 3, "j2": 7, "j3": 4},
    {"j1": 1.1, "j2": 0.3, "j3": 0.9},
    times(
        j1={
            "v1": [6, 3.3, 2.4, 1.95],
            "v2": [3.75, 2.06, 1.5, 1.22],
            "v3": [4.29, 2.36, 1.71, 1.39, 1.2, 1.07, 0.98, 0.91],
        },
        j2={
            "v1": [5, 2.75, 2, 1.62],
            "v2": [3.12, 1.72, 1.25, 1.02],
            "v3": [3.57, 1.96, 1.43, 1.16, 1, 0.89, 0.82, 0.76],
        },
        j3={
            "v1": [7, 3.85, 2.8, 2.27],
            "v2": [4.38, 2.41, 1.75, 1.42],
            "v3": [5, 2.75, 2, 1.62, 1.4, 1.25, 1.14, 1.06],
        },
    ),
)
CPS = Instance(
    3,
    {"V0": 3, "V1": 3, "V2": 2},
    {"V0": 2.88, "V1": 1.86, "V2": 0.71},
    {"J1": 1.75, "J2": 17.95},
    {"J1": 0.44, "J2": 0.55},
    times(
        J1={"V0": [4.74, 3.26, 2.76], "V1": [2.15, 1.29, 1.0], "V2": [1.79, 1.09]},
        J2={"V0": [4.96, 3.36, 2.83], "V1": [8.6, 5.83, 4.91], "V2": [10.07, 5.45]},
    ),
    postponed_weight={"J1": 0.88, "J2": 1.1},
    idle_penalty=0.1,
)
_K = {"J1": [8, 4.4, 3.2, 2.6], "J2": [4, 2.2, 1.6, 1.3], "J3": [6, 3.3, 2.4, 1.95], "J4": [2, 1.1, 0.8, 0.65]}
_M = {"J1": [6.4, 3.52, 2.56, 2.08], "J2": [5, 2.75, 2, 1.62], "J3": [4.8, 2.64, 1.92, 1.56], "J4": [2, 1.1, 0.8, 0.65]}
CPLS = Instance(
    2,
    {"K2": 2, "K4": 4, "M2": 2, "M4": 4},
    {"K2": 1.0, "K4": 2.0, "M2": 1.3, "M4": 2.6},
    {"J1": 3, "J2": 6, "J3": 3, "J4": 2.5},
    {"J1": 1.0, "J2": 0.5, "J3": 0.8, "J4": 0.6},
    times(**{j: {"K2": _K[j][:2], "K4": _K[j], "M2": _M[j][:2], "M4": _M[j]} for j in _K}),
)

ORACLES = (
    Oracle("CP-1", CP1, same(2.4), winners=1),
    Oracle("CP-2", replace(CP1, deadline={"J1": 1}, weight={"J1": 0.6}), same(3.24), winners=1),
    Oracle("CP-3", CP3, same(26.0), winners=1),
    Oracle("CP-3 later", replace(CP3, deadline={"J1": 2, "J2": 9}), same(1.0)),
    Oracle("CP-4 mu=0", replace(CP4, idle_penalty=0), same(3.5, "paper"), winners=1),
    Oracle("CP-4 mu=0.2", replace(CP4, idle_penalty=0.2), same(3.9, "paper"), winners=1),
    Oracle("CP-4 mu=0.3", replace(CP4, idle_penalty=0.3), same(4.1, "paper"), winners=3),
    Oracle("CP-4 mu=1", CP4, same(4.1, "paper"), winners=1),
    Oracle("CP-6", CP6, {"paper": 3.8, "force": 3.8, "at_most": 2.0}, winners=1),
    Oracle("CP-7", CP7, {"paper": 1.0, "force": 5.6, "at_most": 5.6}, winners=1),
    Oracle("CP-7 due 10.99", replace(CP7, deadline={"J1": 10.99}), same(2.0, "paper"), winners=1),
    Oracle("CP-7 due 10.95", replace(CP7, deadline={"J1": 10.95}), same(5.6, "paper"), winners=1),
    Oracle("CP-8", CP8, same(253.5, "paper"), winners=1),
    Oracle("CP-8 printed", CP8, same(304.0, "paper"), deadline_terms="printed", winners=1),
    Oracle("CP-9", CP9, same(16.0, "paper"), winners=2),
    Oracle("CP-10", CP10, same(5.0), winners=1),
    Oracle("CP-10 H=2", replace(CP10, period=2), same(6.25, "paper"), winners=1),
    Oracle("CP-F N=1", CPF, same(0.6705), winners=1),
    Oracle("CP-F N=2", replace(CPF, nodes=2), {"paper": 0.792, "force": 0.792, "at_most": 0.6705}, winners=1),
    Oracle("CP-F N=3", replace(CPF, nodes=3), {"paper": 1.098, "force": 1.098, "at_most": 0.92875}, winners=1),
    Oracle("CP-S paper", CPS, {"paper": 0.95305, "at_most": 4.2279}, winners=1),
    Oracle("CP-S force", CPS, {"force": 4.4279}, winners=2),
    Oracle("CP-LS", CPLS, same(9.432), winners=1),
)
