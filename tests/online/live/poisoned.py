"""Events of capacity planning that no run can accept, and events that a run with them must still answer."""

from __future__ import annotations

from typing import Any, Final

from live_toy import line


def arrival(
    id: str, time: float | None, name: Any, deadline: Any = 4, weight: Any = 0.5, exec_time: Any = None, **others: Any
) -> bytes:
    """A job that runs on `small` with one GPU, and what else it brings."""
    values = {"deadline": deadline, "weight": weight, "Runnable": [["small", 1]], "exec_time": {"small,1": 2}}
    if exec_time is not None:
        values["exec_time"] = exec_time
    return line("arrival", id, time, job=name, values={**values, **others})


def value(id: str, time: float | None, **values: Any) -> bytes:
    return line("value", id, time, values=values)


# By what is wrong: the event, and the code of its refusal.
POISON: Final[dict[str, tuple[bytes, str]]] = {
    "weight": (arrival("p", 1, "p", weight=1e308), "GSM7007"),
    "deadline": (arrival("p", 1, "p", deadline=1e308), "GSM7007"),
    "deadline long ago": (arrival("p", 1, "p", deadline=-1e308), "GSM7007"),
    "no execution time": (arrival("p", 1, "p", exec_time={"small,1": 1e-300}), "GSM7007"),
    "endless execution": (arrival("p", 1, "p", exec_time={"small,1": 1e308}), "GSM7007"),
    "price": (value("p", 1, price={"small": 1e308}), "GSM7007"),
    "period": (value("p", 1, period=1e-9), "GSM7007"),
    "penalty": (value("p", 1, idle_penalty=1e308), "GSM7007"),
    "clock": (line("tick", "p", 1e308), "GSM7007"),
    "seconds since 1970": (line("tick", "p", 1.79e9), "GSM7007"),
    "milliseconds since 1970": (line("tick", "p", -1.79e12), "GSM7007"),
    "clock with a job": (arrival("p", 1e308, "p"), "GSM7007"),
    "work done": (line("progress", "p", 1, job="g", done=1e308), "GSM5207"),
    "no GPUs": (value("p", 1, gpus={"small": 0}), "GSM2109"),
    "half a GPU": (value("p", 1, gpus={"small": 1.5}), "GSM3007"),
    "text as number": (value("p", 1, price={"small": "dear"}), "GSM5207"),
    "truth as number": (value("p", 1, price={"small": True}), "GSM5207"),
    "integer of 400 digits": (value("p", 1, price={"small": 10**400}), "GSM5207"),
    "empty row": (value("p", 1, price=[[]]), "GSM5207"),
    "row without subscript": (value("p", 1, price=[[1.0]]), "GSM5207"),
    "row with two": (value("p", 1, price=[["small", "x", 1.0]]), "GSM5207"),
    "subscript of a scalar": (value("p", 1, period={"a": 1}), "GSM5207"),
    "job without ways": (arrival("p", 1, "p", Runnable=[], exec_time={}), "GSM3005"),
    "way twice": (arrival("p", 1, "p", Runnable=[["small", 1], ["small", 1]]), "GSM2110"),
    "count of 30 digits": (arrival("p", 1, "p", Runnable=[["small", 10**30]]), "GSM2103"),
    "not its parameter": (arrival("p", 1, "p", period=5), "GSM6012"),
}
