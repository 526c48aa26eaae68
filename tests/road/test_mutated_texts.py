"""Whatever is written, the answer is a problem or findings with places, never a crash."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

FOLDER = Path(__file__).parent / "models"
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[^\W\d]\w*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\s+|==|<=|>=|=>|!=|\.\.|.')
EXTRA = ("0", "-1", "1e400", "2.5", "[h]", "next(", "H", "j", "where", "else 0", "in", "{ }", "()", "1..0", "- 2 ^ 0.5")
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.gsm"))
         if path.stem not in ("data_road", "inheritance")]  # fmt: skip


def _beside(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


random_texts = _beside("random_texts")


def mutated(random: Random) -> str:
    """A text with some tokens left out, doubled, exchanged, or put in from elsewhere."""
    if random.random() < 0.5:
        text = random.choice(TEXTS)
    else:
        writer = random_texts.Writer(random)
        writer.write()
        text = writer.text()
    tokens = TOKEN.findall(text)
    solid = [at for at, token in enumerate(tokens) if not token.isspace()]
    for _ in range(random.randint(1, 3)):
        at, other = random.choice(solid), random.choice(solid)
        match random.randint(0, 4):
            case 0:
                tokens[at] = " "
            case 1:
                tokens[at] += " " + tokens[at]
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = tokens[other]
            case 4:
                tokens[at] = random.choice(EXTRA)
    return "".join(tokens)


def survives(random: Random) -> None:
    text = mutated(random)
    found: list[Diagnostic] = []
    try:
        model = gs.loads(text)
        for scenario in model.scenarios:
            model.ground(scenario)
    except DiagnosticError as error:
        found.extend(error.diagnostics)
    except Exception as error:
        raise AssertionError(text) from error
    assert all(d.code != "GSM9999" for d in found), text
    assert all(d.primary is not None for d in found if d.code < "GSM6000"), text


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_mutated_texts(random: Random) -> None:
    survives(random)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_many_mutated_texts(first: int) -> None:
    for seed in range(first, first + 500):
        survives(Random(seed))
