"""Kernels in place are compiled without counting references, which only functions without arrays of their own allow."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.packages import package_folders
from gpusched_dsl.policies.kernels.compiled import Kernel

CREATE = {
    "append", "arange", "argsort", "array", "concatenate", "copy", "cumsum", "empty", "empty_like", "full", "ones",
    "sort", "where", "zeros", "zeros_like",
}  # fmt: skip
# Numba computes these of an array through another array, at least in some versions (0.68: `max`).
REDUCE = {"all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum"}
CONSTANTS = {"0", "0.0", "NONE", "np.inf"}
SCALARS = {"None", "int", "float", "bool"}
Function = Callable[..., Any]


def _plain(value: object) -> Function | None:
    function = value.py_func if isinstance(value, Kernel) else value
    return function if inspect.isfunction(function) else None


def _decorator(function: Function) -> str:
    return inspect.getsource(function).partition("\n")[0]


def _all_kernels() -> dict[str, Function]:
    found = {}
    folder = package_folders()["gpusched_dsl"]
    for path in sorted((folder / "policies" / "kernels").rglob("*.py")):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")
        for value in vars(importlib.import_module(name)).values():
            function = _plain(value)
            if function is not None and function.__module__ == name and "@compiled" in _decorator(function):
                found[f"{name}.{function.__name__}"] = function
    return found


KERNELS = _all_kernels()


def _is_in_place(function: Function) -> bool:
    return _decorator(function) in ("@compiled_in_place", "@compiled_inline")


def _creates_arrays(function: Function) -> bool:
    """Whether the text shows an array that is created; what is assigned to a slice is copied if it is an array."""
    return any(
        isinstance(part, ast.List | ast.ListComp)
        or (
            isinstance(part, ast.Assign)
            and any(isinstance(to, ast.Subscript) and isinstance(to.slice, ast.Slice) for to in part.targets)
            and ast.unparse(part.value) not in CONSTANTS
        )
        or (isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in CREATE)
        for part in ast.walk(ast.parse(inspect.getsource(function)))
    )


def _reduces_arrays(function: Function) -> bool:
    """Whether the text shows a method or a function of NumPy that reduces an array to a number."""
    return any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in REDUCE
        for part in ast.walk(ast.parse(inspect.getsource(function)))
    )


def _returns_scalars(function: Function) -> bool:
    returned = str(inspect.get_annotations(function)["return"])
    return {part.strip() for part in returned.removeprefix("tuple[").removesuffix("]").split(",")} <= SCALARS


def _called_by(function: Function) -> list[Function]:
    called = (_plain(function.__globals__.get(name)) for name in function.__code__.co_names)
    return [one for one in called if one is not None and one in KERNELS.values()]


def test_there_are_kernels_of_both_sorts() -> None:
    assert {_is_in_place(function) for function in KERNELS.values()} == {False, True}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_in_place_exactly_if_it_can_be(name: str) -> None:
    function = KERNELS[name]
    able = not _creates_arrays(function) and _returns_scalars(function)
    assert _is_in_place(function) == (able and all(_is_in_place(called) for called in _called_by(function)))


@pytest.mark.parametrize("name", [name for name, function in KERNELS.items() if _is_in_place(function)])
def test_a_kernel_in_place_reduces_no_array(name: str) -> None:
    """Such a kernel may compile with one version of Numba alone; a loop compiles with all."""
    assert not _reduces_arrays(KERNELS[name])
