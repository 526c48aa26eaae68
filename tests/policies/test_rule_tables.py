"""The rules, moves, prices and draws of the language equal those of the engine."""

from __future__ import annotations

import inspect

import pytest

from gpusched_dsl.language.blocks.policies import rule_table as told
from gpusched_dsl.policies import rules as run
from gpusched_dsl.policies.decide import LISTED
from gpusched_dsl.policies.kernels import candidate_search, construct, finishing, slotted_cluster
from gpusched_dsl.policies.kernels.moves import hill_climbing
from gpusched_dsl.policies.kernels.pricing import PRICES
from gpusched_dsl.policies.local_search import BUILT_IN


@pytest.mark.parametrize(
    ("codes", "kernel", "table"),
    [
        (run.PLACE_CODES, construct, "PLACE_CODES"),
        (run.FINISH_CODES, finishing, "FINISH_CODES"),
        (run.MOVE_CODES, hill_climbing, "MOVE_CODES"),
        (run.GUARD_CODES, slotted_cluster, "GUARD_CODES"),
        (run.SERVING_CODES, slotted_cluster, "SERVING_CODES"),
    ],
)
def test_every_row_has_a_kernel(codes: dict[str, int], kernel: object, table: str) -> None:
    text = inspect.getsource(kernel)  # type: ignore[arg-type]
    assert codes
    assert [name for name in codes if f'{table}["{name}"]' not in text] == []


def test_rules_of_each_engine() -> None:
    of_nodes = {name for name, shape in (told.PLACE | told.FINISH).items() if shape.plans == "nodes"}
    assert of_nodes == set(run.PLACE_CODES) | set(run.FINISH_CODES)
    assert told.rules_of("queues") == {"append", "sort"}
    assert told.rules_of("slots") == {name.split()[0] for name in told.SLOT_PLACE}


def test_moves_stand_in_one_order() -> None:
    assert [move.__name__ for move in BUILT_IN] == list(told.IMPROVE)
    assert {p.default for shape in told.IMPROVE.values() for p in shape.parameters} == {str(LISTED)}


def test_prices() -> None:
    assert set(told.PRICES) == set(PRICES)


def test_odds_of_nodes() -> None:
    assert {"", *told.WEIGHTS["place"]} == set(run.NODE_ODDS)
    assert {candidate_search.INVERSE_IDLE, candidate_search.IDLE} == {1, 2}


def test_each_rule_is_told_in_a_sentence() -> None:
    for table in told.RULES.values():
        for name, shape in table.items():
            assert len(shape.words.split()) >= 5, name
            assert not shape.words.endswith("."), name
