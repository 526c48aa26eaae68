"""Worked instances of the single-job problem, with exact solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.distributions import (
    Distribution,
    Exponential,
    LogNormal,
    Weibull,
    discrete,
    survival_points,
    uniform,
)

S, P = (1.0, 1.8, 2.4, 2.8), (1.0, 2.0, 3.0, 4.0)
U = uniform(0.0, 100.0)
EXP = Exponential(1 / 0.03)
TRUNCATED, CENSORED = EXP.truncate(high=100.0), EXP.censor(100.0)
DISCRETE = discrete(np.array([10.0, 20, 40, 70, 100]), np.array([0.3, 0.2, 0.2, 0.1, 0.2]))
LATE = uniform(20.0, 100.0)
WEIBULL = Weibull(45.0, 1.5).censor(100.0)
LOGNORMAL = LogNormal(float(np.exp(3.5)), 0.5).censor(100.0)
POINTS = survival_points(np.array([0.0, 30, 100]), np.array([1.0, 0.4, 0.1]))
HUNDRED = discrete(np.arange(1.0, 101.0))


@dataclass(frozen=True)
class Oracle:
    """`switches`: (rung, the work at which it is left) for rungs of the filtered ladder, by their place in `speed`."""

    name: str
    law: Distribution
    due: float
    status: str
    rungs: tuple[int, ...]
    switches: tuple[float, ...]
    price: float | None
    energy: float
    time: float
    worst: float
    done: float = 0.0
    speed: tuple[float, ...] = S
    rate: tuple[float, ...] = P
    lateness: float = 0.0


A = (0, 1, 2, 3)
ORACLES = (
    Oracle("SJ-1", U, 60, "OK", A, (17.377049, 79.344262, 93.114754), 63 / 305, 3302 / 61, 34.519484, 113.278689),
    Oracle("SJ-2", U, 45, "OK", A, (0, 33.5, 77.833333), 0.665, 59.065278, 24.560532, 124.305556),
    Oracle("SJ-2b", U, 36, "OK", A, (0, 0, 4.8), 2.856, 70.592, 18.136, 142),
    Oracle(
        "SJ-3", TRUNCATED, 60, "OK", A, (24.420808, 61.610613, 81.899868), 0.113359, 29.634154, 22.872269, 116.961714,
    ),
    Oracle("SJ-4", CENSORED, 60, "OK", A, (20.426235, 66.636047, 100), 0.135460, 33.892810, 23.987479, 113.475412),
    Oracle("SJ-4b", CENSORED, 45, "OK", A, (0, 35.813877, 72.434287), 0.341497, 36.924802, 16.118953, 124.948299),
    Oracle("SJ-5", DISCRETE, 62, "OK", A, (14.5, 100, 100), 0.175, 45.205556, 29.177778, 109.5),
    Oracle("SJ-5b", DISCRETE, 60, "OK", A, (10, 100, 100), None, 45.555556, 27.777778, 110),
    Oracle("SJ-5c", DISCRETE, 50, "OK", A, (0, 60, 100), 0.3, 47.916667, 22.083333, 116.666667),
    Oracle("SJ-5d", DISCRETE, 36, "OK", A, (0, 0, 4.8), 3.0, 59.142857, 15.285714, 142),
    Oracle("SJ-6", U, 30, "INFEASIBLE", A, (0, 0, 0), None, 71.428571, 17.857143, 142.857143, lateness=5.714286),
    Oracle("SJ-7", U, 120, "LOOSE", A, (100, 100, 100), 0, 50, 50, 100),
    Oracle(
        "SJ-8", U, 45, "OK", (1, 2, 3), (30.477273, 84.886364), 0.347614, 62.945739, 24.353261, 129.119318,
        rate=(1.3, 2.2, 3.1, 4.0),
    ),
    Oracle(
        "SJ-8b", U, 70, "LOOSE", (1, 2, 3), (100, 100), 0, 61.111111, 27.777778, 122.222222, rate=(1.3, 2.2, 3.1, 4.0)
    ),
    Oracle("SJ-9", U, 70, "LOOSE", (3,), (), 0, 71.428571, 17.857143, 142.857143, rate=(2.5, 3, 3.5, 4)),
    Oracle(
        "SJ-10", U, 60, "OK", (0, 2, 3), (32.413793, 90.344828), 0.289655, 55.793103, 36.649227, 118.620690,
        speed=(1, 1.5, 2.4, 2.8),
    ),
    Oracle("SJ-11", LATE, 60, "OK", A, (17.142857, 80, 93.333333), 0.25, 65.158730, 40.588624, 113.174603),
    Oracle(
        "SJ-12", WEIBULL, 60, "OK", A, (22.274692, 64.963659, 90.100431), 0.176480, 42.746095, 30.379778, 115.270084,
    ),
    Oracle(
        "SJ-13", LOGNORMAL, 60, "OK", A, (27.689005, 54.452609, 74.199340), 0.159950, 39.099046, 31.410619, 118.967842,
    ),
    Oracle("SJ-14", POINTS, 60, "OK", A, (15.343511, 82.900763, 100), 0.173282, 41.659033, 26.837393, 111.781170),
    Oracle(
        "SJ-15", U, 24.499089, "OK", A, (50, 79.344262, 93.114754), 0.413115, 28.455015, 13.268088, 59.653916, done=50
    ),
    Oracle("SJ-15b", U, 20, "OK", A, (50, 51, 83.666667), 0.98, 31.588889, 10.395370, 65.277778, done=50),
    Oracle(
        "SJ-15c", U, 17, "INFEASIBLE", A, (50, 50, 50), None, 35.714286, 8.928571, 71.428571, done=50, lateness=0.857143
    ),
    Oracle(
        "SJ-15d", U, 40, "OK", A, (79.344262, 94.836066, 98.278689), 0.103279, 25.516393, 23.064936, 53.319672, done=50,
    ),
    Oracle(
        "SJ-16", U, 60, "OK", (0, 3, 4), (31.407287, 73.826465), 0.785206, 43.917136, 37.397074, 106.903562,
        speed=(1 / 1.05, *S), rate=(0.5, *P),
    ),
    Oracle("SJ-17", HUNDRED, 60, "OK", A, (17.053571, 80, 94), 0.2075, 54.697560, 34.722262, 113.065476),
    Oracle(
        "SJ-18", U, 40, "OK", (1, 2, 3), (32.631579, 91.578947), 0.336842, 51.684211, 21.742382, 106.315789,
        speed=(1, 2, 2.8, 3.2),
    ),
)  # fmt: skip
