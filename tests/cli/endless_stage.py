"""A `gsdsl` command in which one stage never ends, or takes more and more memory: `endless_stage.py STAGE KIND ...`."""

import importlib
import itertools
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from gpusched_dsl.cli import main, watchdog

STAGES = {
    "parse": "gpusched_dsl.language.parsing.parser._parse",
    "check": "gpusched_dsl.cli.instance.check_solvable",
    "read": "gpusched_dsl.compiling.data.instance._Builder._param",
    "ground": "gpusched_dsl.compiling.lowering.ground._Grounding._constraint",
    "reformulate": "gpusched_dsl.solving.solve.reformulate",
    "solve": "gsdsl_backends.highs.run.HighsRun.run",
    "policy": "gpusched_dsl.policies.decide.run",
    "verify": "gpusched_dsl.solving.verification.verify",
    "write": "gpusched_dsl.cli.solve._write",
}
KEPT: list[bytes] = []


def loop(*_: Any, **__: Any) -> None:
    while True:
        pass


def library_loop(*_: Any, **__: Any) -> None:
    """A loop in C: no signal handler of Python runs."""
    deque(itertools.repeat(0), maxlen=0)


def allocation(*_: Any, **__: Any) -> None:
    while True:
        KEPT.append(b"x" * (1 << 24))


def library_allocation(*_: Any, **__: Any) -> None:
    list(itertools.repeat(0))


KINDS: dict[str, Callable[..., None]] = {
    "loop": loop,
    "library_loop": library_loop,
    "allocation": allocation,
    "library_allocation": library_allocation,
}


def said_first(work: Callable[..., None]) -> Callable[..., None]:
    def replaced(*arguments: Any, **named: Any) -> None:
        print("here", file=sys.stderr, flush=True)
        work(*arguments, **named)

    return replaced


def replace(place: str, work: Callable[..., None]) -> None:
    """Put a function in the place of another: `module.name` or `module.Class.name`."""
    path = place.split(".")
    modules = next(end for end in range(len(path) - 1, 0, -1) if is_module(path[:end]))
    owner = importlib.import_module(".".join(path[:modules]))
    for name in path[modules:-1]:
        owner = getattr(owner, name)
    assert callable(getattr(owner, path[-1])), place
    setattr(owner, path[-1], said_first(work))


def is_module(path: Sequence[str]) -> bool:
    try:
        importlib.import_module(".".join(path))
    except ModuleNotFoundError:
        return False
    return True


if __name__ == "__main__":
    replace(STAGES[sys.argv[1]], KINDS[sys.argv[2]])
    watchdog.SOLVER_TIME = watchdog.POLICY_TIME = 8.0 - 2 * 30.0  # ends after 8 s with a time limit of 30 s
    watchdog.PROGRAM_MEMORY = 600 << 20
    del sys.argv[1:3]
    sys.exit(main())
