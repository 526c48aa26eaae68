"""A small model in a folder of its own, and a way to run commands in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpusched_dsl.cli import main

MODEL = """\
model Pack "how many of each" {
  set Items;
  param worth[Items] in $ >= 0;
  param size[Items] in GB > 0;
  param room in GB >= 0;
  var take[i in Items] integer >= 0 <= 9;
  maximize gain in $ {
    sold: sum[i in Items] worth[i] * take[i];
    fee: -1[$];
  }
  constraint fits: sum[i in Items] size[i] * take[i] <= room;
}

scenario Small for Pack {
  table Items: worth[$] size[GB] =
    a 3 2
    b 5 3;
  room = 7[GB];
}
"""

TEST = """
test Small {
  solve Small with highs, scip (gap = 0);
  expect gain == 10;
  expect take["a"] == 2;
  expect status == optimal;
}
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def gsdsl(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run `gsdsl` with these arguments."""

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """The file of a model with one scenario and one test."""
    path = tmp_path / "pack.gsm"
    path.write_text(MODEL + TEST, encoding="utf-8")
    return path


@pytest.fixture
def variant(tmp_path: Path) -> Callable[..., Path]:
    """The file with texts replaced: `variant("room = 7", "room = 8")`."""

    def write(*replacements: str, name: str = "variant.gsm") -> Path:
        text = MODEL + TEST
        for old, new in zip(replacements[::2], replacements[1::2], strict=True):
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


RENTED = """\
import "gsdsl:capacity_planning/scenarios/figure1.gsm";
import "gsdsl:capacity_planning/policies.gsm";

scenario Small extends Figure1Synthetic { node_rule = at_most; }

policy Lazy for CapacityPlanning extends Greedy "runs nothing" {
  place postpone;
}

policy Drawn for CapacityPlanning extends RandomisedGreedy "a few draws" {
  repeat 20 keep best total;
}

policy Endless for CapacityPlanning extends RandomisedGreedy {
  repeat 1000000000 keep best total;
}

model Machines "other decisions" {
  set Jobs;
  set Nodes;
  var run[Jobs, Nodes] binary;
  minimize total: sum[j in Jobs, n in Nodes] run[j, n];
  placement run[j, n] { job j; node n; }
}

policy Elsewhere for Machines {
  order j in Jobs by 1;
  place new_node, wait;
}
"""


@pytest.fixture
def without_stock() -> tuple[str, ...]:
    """Options of `rented` for which no plan satisfies the model: three VMs are wanted, and none is in stock."""
    values = ("node_rule=force", *(f'stock["{name}"]=0' for name in ("v1", "v2", "v3")))
    return tuple(word for value in values for word in ("--set", value))


@pytest.fixture
def rented(tmp_path: Path) -> Callable[..., Path]:
    """A file with the three jobs of Figure 1, some policies and what is added to it."""

    def write(more: str = "", name: str = "rented.gsm") -> Path:
        path = tmp_path / name
        path.write_text(RENTED + more, encoding="utf-8")
        return path

    return write
