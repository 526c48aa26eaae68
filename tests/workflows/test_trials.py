"""All comparisons run their trials by one loop: in order, with rows of refused trials; Ctrl-C keeps what is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from asking_texts import THREE_JOBS, read

from gpusched_dsl.compiling.build import check_solvable
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.reporting.runs.seeds import SeedComparison
from gpusched_dsl.reporting.trials import Trials
from gpusched_dsl.workflows.compare import CompareConfig, compare
from gpusched_dsl.workflows.listener import Listener
from gpusched_dsl.workflows.method import choose_method
from gpusched_dsl.workflows.run import run_methods, run_seeds
from gsdsl_backends.protocol import SolveOptions

METHODS = ("FIFO", "Greedy", "EDF")
Begin = Callable[[str], None]


def compared(begin: Begin, methods: Sequence[str] = METHODS) -> Trials[Any]:
    class Telling(Listener):
        def begin(self, doing: str) -> None:
            begin(doing)

    workspace = read(THREE_JOBS)
    scenario, warnings = check_solvable(workspace, "CpOn")
    selected = SelectedScenario(workspace=workspace, scenario=scenario, warnings=warnings)
    chosen = [choose_method(workspace, name, scenario.model) for name in methods]
    return compare(CompareConfig(scenario=selected, methods=chosen, options=SolveOptions()), listener=Telling())


def run_over_methods(begin: Begin, methods: Sequence[str] = METHODS) -> Trials[Any]:
    return run_methods(read(THREE_JOBS), methods, RunConfig(scenario="CpOn", online="EveryEvent"), begin=begin)


def run_over_seeds(begin: Begin, methods: Sequence[str] = METHODS) -> Trials[Any]:
    config = RunConfig(scenario="CpOn", online="EveryEvent")
    return run_seeds(read(THREE_JOBS), methods[:2], config, [3, 5], begin=begin)


DOORS = {"compare": compared, "methods": run_over_methods, "seeds": run_over_seeds}
ROWS = {
    "compare": [(method, None) for method in METHODS],
    "methods": [(method, None) for method in METHODS],
    "seeds": [("FIFO", 3), ("Greedy", 3), ("FIFO", 5), ("Greedy", 5)],
}


def refuse(which: int, error: BaseException) -> tuple[Begin, list[str]]:
    """Return what raises an error at the beginning of one trial, and a list that it fills with all titles."""
    titles: list[str] = []

    def begin(title: str) -> None:
        titles.append(title)
        if len(titles) == which + 1:
            raise error

    return begin, titles


@pytest.mark.parametrize("door", DOORS)
def test_rows_are_in_order(door: str) -> None:
    begin, titles = refuse(99, KeyboardInterrupt())
    found = DOORS[door](begin)
    assert [(row.method, row.seed) for row in found.rows] == ROWS[door]
    assert titles == [row.title for row in found.rows]
    assert not found.interrupted
    assert not any("interrupted" in line for line in found.footer())


@pytest.mark.parametrize("stopped", [0, 1, 2, 3])
@pytest.mark.parametrize("door", DOORS)
def test_ctrl_c_keeps_the_finished_trials(door: str, stopped: int) -> None:
    if stopped >= len(ROWS[door]):
        return
    begin, _ = refuse(stopped, KeyboardInterrupt())
    if stopped == 0:
        with pytest.raises(KeyboardInterrupt):
            DOORS[door](begin)
        return
    found = DOORS[door](begin)
    assert [(row.method, row.seed) for row in found.rows] == ROWS[door][:stopped]
    assert found.interrupted
    assert found.to_dict()["interrupted"]
    assert found.footer()[-1].startswith("interrupted: ")


@pytest.mark.parametrize("which", [0, 2])
@pytest.mark.parametrize("door", DOORS)
def test_a_refused_trial_has_a_row_with_its_reason(door: str, which: int) -> None:
    begin, titles = refuse(which, DiagnosticError([Diagnostic("GSM4001", "not today")]))
    found = DOORS[door](begin)
    assert len(titles) == len(found.rows) == len(ROWS[door])
    assert [row.status == "refused" for row in found.rows] == [at == which for at in range(len(found.rows))]
    refused = found.rows[which]
    assert (refused.result, refused.refusal, refused.remark) == (None, "not today", "not today")
    assert [diagnostic.code for diagnostic in refused.diagnostics] == ["GSM4001"]
    assert "not today" in found.csv_text()
    assert found.figures()


def test_the_comparison_at_a_seed_is_that_of_a_run_with_this_seed() -> None:
    begin, _ = refuse(99, KeyboardInterrupt())
    over = run_over_seeds(begin)
    assert isinstance(over, SeedComparison)
    config = RunConfig(scenario="CpOn", online="EveryEvent", seed=5)
    alone, there = run_methods(read(THREE_JOBS), METHODS[:2], config), over[5]
    assert list(there.figures()) == list(alone.figures()) == ["comparison", "FIFO", "Greedy"]
    measured = [name for name in alone.table.columns if "seconds" not in name]
    assert there.table.columns == alone.table.columns
    assert there.table.select(measured).equals(alone.table.select(measured))
    assert list(over.figures()) == ["comparison", "FIFO-3", "Greedy-3", "FIFO-5", "Greedy-5"]
    assert over.table["seed"].to_list() == [3, 3, 5, 5]
