"""The worked instances RS-1 to RS-7 of GPU sharing, each with its optimum under each node rule."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sharing_reference import Instance, Job, Kind, Options

RULES = ("printed", "matching", "work_conserving", "max_running", "none")


@dataclass(frozen=True)
class Oracle:
    """`optima` by node rule, in $, infinite where the rule allows nothing; `winners` where it is known."""

    name: str
    instance: Instance
    optima: dict[str, float]
    options: dict[str, str] = field(default_factory=dict)
    winners: dict[str, int] = field(default_factory=dict)

    def choices(self, rule: str) -> Options:
        return Options(**{"node_rule": rule, **self.options})


def by_rule(*values: float) -> dict[str, float]:
    """In the order of RULES; one value stands for all."""
    return dict(zip(RULES, values * len(RULES) if len(values) == 1 else values, strict=True))


def once(*rules: str) -> dict[str, int]:
    return dict.fromkeys(rules or RULES, 1)


def k80(gpus: int, shares: bool = False) -> Kind:
    return Kind(24, tuple(0.90 * k for k in range(1, gpus + 1)), {5: 1.10, 10: 1.05} if shares else {})


def m60(gpus: int, shares: bool = False) -> Kind:
    return Kind(16, tuple(1.14 * k for k in range(1, gpus + 1)), {5: 1.10, 10: 1.05} if shares else {})


def times(**hours: list[float]) -> dict[tuple[str, int], float]:
    """`times(K80=[12, 7], M60=[9, 5])`: on 1, 2, ... GPUs."""
    return {(kind, k): t for kind, row in hours.items() for k, t in enumerate(row, start=1)}


ON, OFF = {"sharing": "on"}, {"sharing": "off"}

RS1 = Instance(
    {"K80": k80(1, shares=True)}, ("K80",),
    {"J1": Job(6, 10.8, 0.5, times(K80=[10])), "J2": Job(6, 9, 0.5, times(K80=[8]))}, period=2,
)  # fmt: skip
RS2 = Instance(
    {"K80": k80(2, shares=True), "M60": m60(2, shares=True)}, ("K80", "M60"),
    {
        "J1": Job(20, 9, 1, times(K80=[12, 7], M60=[9, 5])),
        "J2": Job(14, 12, 1, times(K80=[11, 6.5], M60=[8, 4.5])),
        "J3": Job(10, 8, 2, times(K80=[7, 4], M60=[5, 3])),
        "J4": Job(5, 7, 1, times(K80=[6, 3.5], M60=[4.5, 2.5])),
    },
)  # fmt: skip
RS3 = Instance(
    {"K80": k80(2)}, ("K80",),
    {
        "J1": Job(8, 6, 1, times(K80=[9, 5])),
        "J2": Job(8, 10, 2, times(K80=[8, 4.5])),
        "J3": Job(8, 13, 0.5, times(K80=[12, 7])),
    },
    period=2,
)  # fmt: skip
RS4 = Instance(
    {"K80": k80(2)}, ("K80", "K80"),
    {"J1": Job(8, 30, 1, times(K80=[10, 6])), "J2": Job(8, 30, 1, times(K80=[4, 2.5]))},
)  # fmt: skip
RS5 = Instance(
    {"K80": k80(1), "M60": m60(1)}, ("K80", "M60"),
    {"J1": Job(20, 10, 1, times(K80=[8], M60=[6])), "J2": Job(20, 12, 1, times(K80=[6], M60=[5]))},
)  # fmt: skip
RS6 = Instance(
    {"A100": Kind(80, (3.67, 7.35), {2: 1.15, 3: 1.10})}, ("A100",),
    {f"J{k + 1}": Job(10, 3, 5, times(A100=[round(2 + k / 10, 1)])) for k in range(7)},
)  # fmt: skip
RS7 = Instance(
    {"K80": k80(3)}, ("K80",),
    {
        "A": Job(8, 30, 0.5, times(K80=[50, 30, 22]), max_epochs=100),
        "B": Job(8, 20, 1, times(K80=[24, 15, 11.4]), max_epochs=60),
    },
    tuple((a * b, {"A": n, "B": m}) for n, a in ((10, 0.9), (100, 0.1)) for m, b in ((20, 0.5), (60, 0.5))),
)  # fmt: skip

ORACLES = (
    Oracle("RS-1", RS1, by_rule(7.56), ON, once()),
    Oracle("RS-1 not shared", RS1, by_rule(13.2, 13.2, 13.2, 13.2, 11), OFF),
    Oracle("RS-2", RS2, by_rule(19.5, 19.5, 20.64, 23.46, 14.34), ON, once()),
    Oracle("RS-2 not shared", RS2, by_rule(17.73, 17.73, 18.3, 25.2, 12.6), OFF, once()),
    Oracle("RS-2 small jobs", replace(RS2, jobs={n: replace(j, memory=1) for n, j in RS2.jobs.items()}),
           by_rule(12.105, 12.105, 6.543, 6.543, 6.543), ON, once()),
    Oracle("RS-3", RS3, by_rule(14, 14, 14, 19.2, 14)),
    Oracle("RS-4", RS4, by_rule(12.6, 12.6, 7.2, 7.2, 0), winners={"printed": 2, "matching": 2}),
    Oracle("RS-5", RS5, by_rule(float("inf"), 5.4, 5.4, 5.4, 0)),
    Oracle("RS-6", RS6, by_rule(14.7)),
    *(
        Oracle(f"RS-7 {expectation}", RS7, {"matching": optimum}, {"expectation": expectation})
        for expectation, optimum in (
            ("worst_case", 50.5), ("mean_value", 15.39), ("here_and_now", 17.39), ("by_outcome", 13.61),
        )
    ),
)  # fmt: skip
