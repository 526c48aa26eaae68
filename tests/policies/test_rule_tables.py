"""What the language knows of rules, moves, prices and draws is what the engine runs."""

from __future__ import annotations

from gpusched_dsl.language.blocks.policies import rule_table as told
from gpusched_dsl.policies import rules as run
from gpusched_dsl.policies.decide import LISTED
from gpusched_dsl.policies.kernels.pricing import PRICES

# Of policies for models with queues, which have an engine of their own.
QUEUES = {"append", "append by earliest_finish", "sort by key"}


def test_places() -> None:
    assert set(told.PLACE) - QUEUES - set(told.SLOT_PLACE) == set(run.PLACE_CODES)


def test_finishing() -> None:
    assert set(told.FINISH) - QUEUES == set(run.FINISH_CODES)


def test_moves_stand_in_one_order() -> None:
    assert tuple(told.IMPROVE) == run.MOVE_NAMES
    assert {p.default for shape in told.IMPROVE.values() for p in shape.parameters} == {str(LISTED)}


def test_prices() -> None:
    assert set(told.PRICES) == set(PRICES)


def test_odds_of_nodes() -> None:
    assert {"", *told.WEIGHTS["place"]} == set(run.NODE_ODDS)


def test_each_rule_is_told_in_a_sentence() -> None:
    for table in told.RULES.values():
        for name, shape in table.items():
            assert len(shape.words.split()) >= 5, name
            assert not shape.words.endswith("."), name
