"""The process of one call: reads the call as JSON from standard input, writes the answer to standard output."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_assistants.limits import CallLimits, CallRefused
from gsdsl_assistants.shortening import shorten

WHOLE = ("check", "repair", "format")  # all of their answer is needed


def answer(call: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a call: its tool, its file, its limits and its arguments."""
    limits = CallLimits(**call["limits"])
    try:
        found = _run(call, limits)
    except DiagnosticError as error:
        from gsdsl_assistants.tasks.reading import as_json

        objects = as_json(error.diagnostics)
        errors = sum(each["severity"] == "error" for each in objects)
        return {"ok": False, "errors": errors, "diagnostics": objects, "report": str(error)}
    except CallRefused as refused:
        return {"refused": str(refused)}
    except MemoryError:
        return {"refused": "the machine ran out of memory"}
    if call["tool"] in WHOLE:
        return found
    shortened, left_out = shorten(found, limits.entries)
    return {**shortened, "left_out": left_out} if left_out else dict(shortened)


def _run(call: dict[str, Any], limits: CallLimits) -> dict[str, Any]:
    from gpusched_dsl.compiling.build import Permissions
    from gsdsl_assistants.tasks.reading import ModelFile

    arguments: dict[str, Any] = call["arguments"]
    file = None
    if call["file"] is not None:
        file = ModelFile(call["file"], Permissions(limits.memory, call["allow_outside"]))
    match call["tool"]:
        case "policies":
            from gsdsl_assistants.tasks.policies import policies

            return policies(file, **arguments)
        case "describe_policy":
            from gsdsl_assistants.tasks.policies import describe_policy

            return describe_policy(file, **arguments)
        case "inspect":
            from gsdsl_assistants.tasks.inspect import inspect

            return inspect(limits, **arguments)
    assert file is not None
    match call["tool"]:
        case "check":
            from gsdsl_assistants.tasks.check import check

            return check(file, **arguments)
        case "repair":
            from gsdsl_assistants.tasks.check import repair

            return repair(file, **arguments)
        case "format":
            from gsdsl_assistants.tasks.check import formatted

            return formatted(file)
        case "solve":
            from gsdsl_assistants.tasks.solve import solve

            return solve(file, limits, **arguments)
        case "explain":
            from gsdsl_assistants.tasks.solve import explain

            return explain(file, limits, **arguments)
    raise ValueError(call["tool"])


def main() -> None:
    """Answer one call. What solvers print goes to standard error, which the server discards."""
    out = os.dup(1)
    os.dup2(2, 1)
    found = answer(json.load(sys.stdin))
    with os.fdopen(out, "w", encoding="utf-8") as stream:
        json.dump(found, stream, default=str)


if __name__ == "__main__":
    main()
