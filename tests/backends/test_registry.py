"""Backends by name."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends import registry


def test_names() -> None:
    assert {"cpsat", "cvxpy", "highs", "scip"} <= set(registry.backend_names())


def test_same_backend_each_time() -> None:
    assert registry.backend("highs") is registry.backend("highs")
    assert registry.backend("highs").name == "highs"


def test_unknown_name_has_a_near_one() -> None:
    with pytest.raises(DiagnosticError) as caught:
        registry.backend("hihgs")
    (finding,) = caught.value.diagnostics
    assert finding.code == "GSM4001"
    assert finding.help == "did you mean `highs`?"


def test_unknown_name_without_a_near_one_lists_all() -> None:
    with pytest.raises(DiagnosticError) as caught:
        registry.backend("zzz")
    (finding,) = caught.value.diagnostics
    assert finding.help is not None
    assert "highs" in finding.help
    assert "scip" in finding.help


@pytest.mark.parametrize("value", ["no_such_module_anywhere:Backend", "gsdsl_backends.highs.backend:NoSuchClass"])
def test_backend_that_cannot_be_loaded(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", value, registry.GROUP)
    monkeypatch.setattr(registry, "_known_backends", lambda: {"broken": broken})
    with pytest.raises(DiagnosticError) as caught:
        registry.backend("broken")
    (finding,) = caught.value.diagnostics
    assert finding.code == "GSM4002"
    assert value in finding.notes[0]


def test_other_packages_can_add_one(monkeypatch: pytest.MonkeyPatch) -> None:
    added = EntryPoint("other", "gsdsl_backends.highs.backend:HighsBackend", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: {"other": added})
    registry._known_backends.cache_clear()
    try:
        assert registry.backend_names() == ("cpsat", "cvxpy", "highs", "other", "scip", "search")
    finally:
        registry._known_backends.cache_clear()


def test_names_import_no_solver() -> None:
    code = (
        "import sys; from gsdsl_backends.registry import backend_names; backend_names();"
        "print([m for m in ('numpy', 'polars', 'highspy', 'pyscipopt') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
