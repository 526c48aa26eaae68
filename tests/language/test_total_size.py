"""The work of a check grows with what blocks inherit: it is counted before it begins, and limited."""

from typing import Any

import pytest

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.language.checking import model as checking
from gpusched_dsl.language.checking import total_size
from gpusched_dsl.language.checking.flatten import FlatModel
from gpusched_dsl.language.checking.total_size import MOST_STATEMENTS, allow_size
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.workflows.check import check_all

BASE = 40  # statements of the base
MODEL = "model A { set S; var x >= 0; minimize c: x;" + "".join(f" let l{i} = x + {i};" for i in range(BASE - 3)) + "}"
SCENARIO = "scenario Z for A { S = { a }; }"
OPTIONS = """
model O {
  option mode in { a, b, c } default a; var x >= 0; minimize c: x;
  when mode == a { let p = 1; let q = 2; }
}
"""


def read(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(text, "t.gsm", found)
    assert not list(found)
    return workspace


def counted(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The smallest limit that allows a text."""
    workspace = read(text)
    low, high = 0, 10_000
    while low < high:
        middle = (low + high) // 2
        monkeypatch.setattr(total_size, "MOST_STATEMENTS", middle)
        low, high = (low, middle) if allow_size(workspace, Diagnostics()) else (middle + 1, high)
    return low


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (MODEL, BASE),
        (MODEL + "".join(f"model B{i} extends A {{ param q = 1; }}" for i in range(3)), BASE + 3 * (BASE + 1)),
        ("model C extends B { } model B extends A { param q = 1; } " + MODEL, BASE + 2 * (BASE + 1)),
        (MODEL + SCENARIO + "scenario Y extends Z { } scenario X extends Y { S = { b }; }", BASE + 1 + 1 + 2),
        (OPTIONS, 3 * 6),
        ("model D extends D { } model E extends Unknown { param p = 1; }", 1),
    ],
)
def test_inherited_statements_count_in_each_block(text: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert counted(text, monkeypatch) == count


@pytest.mark.parametrize(
    "extensions",
    [
        "".join(f"model B{i} extends A {{ param q = 1; }}\n" for i in range(100)),
        SCENARIO + "".join(f"scenario B{i} extends Z {{ S = {{ b }}; }}\n" for i in range(2000)),
    ],
)
def test_a_text_beyond_the_limit_costs_nothing(extensions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(total_size, "MOST_STATEMENTS", 30 * BASE)
    monkeypatch.setattr(checking, "_check", lambda *arguments: pytest.fail("a model was checked"))
    found = Diagnostics()
    check_all(read(MODEL + extensions), found, Permissions())
    assert [d.code for d in found] == ["GSM6031"]


def test_an_accepted_text_is_checked_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    work: list[int] = []
    check = checking._check

    def counting(flat: FlatModel, *rest: Any) -> Any:
        work.append(len(flat.statements))
        return check(flat, *rest)

    monkeypatch.setattr(checking, "_check", counting)
    text = MODEL + OPTIONS + "".join(f"model B{i} extends A {{ param q = 1; }}\n" for i in range(20))
    check_all(read(text), Diagnostics(), Permissions())
    assert 0 < sum(work) <= counted(text, monkeypatch) <= MOST_STATEMENTS
