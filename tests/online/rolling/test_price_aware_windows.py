"""Windows of price-aware scheduling against enumeration: carried, left, rejected, late or undone work."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from price_aware_reference import Rules
from price_aware_window import best, random_window, random_window_rules, window_text

import gpusched_dsl as gs


def options(rules: Rules) -> dict[str, str]:
    return {name: choice for name, choice in vars(rules).items() if name != "migration"}


def check_windows(folder: Path, seeds: range) -> dict[str, int]:
    """The model's optimum is that found by enumeration; how often which way out was taken."""
    made = {f"Seed{seed}": random_window(Random(seed)) for seed in seeds}
    path = folder / "windows.gsm"
    texts = [window_text(name, window) for name, window in made.items()]
    path.write_text('import "gsdsl:price_aware/rolling.gsm";\n' + "\n".join(texts), encoding="utf-8")
    loaded = gs.load(path)
    seen = dict.fromkeys(("later", "late_later", "overdue", "undone", "rejections", "shedding", "restarts"), 0)
    for name, window in made.items():
        rules = random_window_rules(Random(name))
        wanted = best(window, rules)
        result = loaded.solve(name, gap=0, settings=options(rules))
        assert result.status == "optimal", (name, rules)  # there is always a plan
        if wanted < float("inf"):
            assert result.objective == pytest.approx(wanted, abs=1e-7), (name, rules)
            assert result.terms["shedding"] == pytest.approx(0, abs=1e-9), (name, rules)
        else:
            assert result.terms["shedding"] > 1e-9, (name, rules)
        for term in seen:
            seen[term] += result.terms[term] > 1e-9
    return seen


@pytest.mark.slow
def test_windows_against_enumeration(tmp_path: Path) -> None:
    seen = check_windows(tmp_path, range(12))
    assert min(seen.values()) > 0, seen  # every way out was taken somewhere


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_many_windows_against_enumeration(tmp_path: Path, block: int) -> None:
    check_windows(tmp_path, range(1000 + 60 * block, 1060 + 60 * block))
