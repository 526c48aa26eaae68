"""The checker on generated texts: mutated models never make it fail, and the order of declarations is free."""

import random
import re
from pathlib import Path

import pytest

from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checking import check_model, check_workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import workspace_from_text

TOUR = Path(__file__).parents[1] / "tour"
MODELS = {"capacity_planning": "CapacityPlanning", "price_aware": "PriceAware", "speed_profile": "SpeedProfile"}
WORDS = re.compile(r'"[^"\n]*"|\w+|\.\.|[<>=!]=|=>|\s+|.', re.DOTALL)


def model_text(file: str) -> str:
    """The first block of a file of the tour."""
    text = (TOUR / f"{file}.gsm").read_text(encoding="utf-8")
    return text[: text.index("\n}\n") + 3]


def mutated(text: str, chance: random.Random, pool: list[str]) -> str:
    words = WORDS.findall(text)
    places = [i for i, word in enumerate(words) if not word.isspace()]
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        place, other = chance.choice(places), chance.choice(places)
        match chance.randrange(4):
            case 0:
                words[place] = ""
            case 1:
                words[place] = chance.choice(pool)
            case 2:
                words[place], words[other] = words[other], words[place]
            case _:
                words[place] += " " + chance.choice(pool)
    return "".join(words)


def try_mutations(seed: int, times: int) -> None:
    chance = random.Random(seed)
    texts = [model_text(file) for file in MODELS]
    pool = [word for text in texts for word in WORDS.findall(text) if not word.isspace()]
    for _ in range(times):
        text = mutated(chance.choice(texts), chance, pool)
        diagnostics = Diagnostics()
        check_workspace(workspace_from_text(text, "m.gsm", diagnostics), diagnostics)
        for found in diagnostics:
            assert isinstance(found.primary, Span), text
            assert 0 <= found.primary.start <= found.primary.end <= len(text), text


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(3))
def test_mutated_models(seed: int) -> None:
    try_mutations(seed, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_mutated_models(seed: int) -> None:
    try_mutations(seed, 1000)


def checked(text: str, name: str) -> tuple[CheckedModel, list[str]]:
    diagnostics = Diagnostics()
    model = check_model(workspace_from_text(text, "m.gsm", diagnostics), name, {}, diagnostics)
    assert model is not None
    return model, [d.code for d in diagnostics]


@pytest.mark.quick(3)
@pytest.mark.parametrize("file", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_declarations_does_not_matter(file: str, seed: int) -> None:
    text = model_text(file)
    diagnostics = Diagnostics()
    tree = workspace_from_text(text, "m.gsm", diagnostics).models[MODELS[file]]
    statements = [s.span.text for s in tree.statements]
    random.Random(seed).shuffle(statements)
    shuffled, found = checked(f"model {MODELS[file]} {{ {' '.join(statements)} }}", MODELS[file])
    model, expected = checked(text, MODELS[file])
    assert found == expected
    for kind in ("sets", "params", "lets", "variables", "constraints"):
        assert set(getattr(shuffled, kind)) == set(getattr(model, kind))
    assert set(shuffled.data_order) == set(model.data_order)
    place = shuffled.data_order.index
    needed = {"CapacityPlanning": ("Types", "gpus", "Configs", "exec_time", "slowest"), "PriceAware": ("Nodes", "on"),
              "SpeedProfile": ("max_gpus", "Levels", "speed")}[MODELS[file]]  # fmt: skip
    order = [place(name) for name in needed if name in shuffled.data_order]
    assert order == sorted(order)
