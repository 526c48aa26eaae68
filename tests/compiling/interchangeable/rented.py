"""A small model over machines, with room for more, read but not grounded."""

from __future__ import annotations

from pathlib import Path

from gpusched_dsl.compiling.build import Permissions, check_solvable, choose_scenario, read_data
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text

LIMITS = MemoryLimits(1 << 30)

TEXT = """model Rented {
  set Machines;
  set Jobs;
  param size[Machines] default 1;
  param need[Jobs] default 1;
  DECLARED
  var on[Machines] binary;
  var does[Jobs, Machines] binary;
  ROWS
  minimize cost: sum[m in Machines] size[m] * on[m] + sum[j in Jobs, m in Machines] does[j, m];
}
scenario S for Rented {
  Machines = MACHINES;
  Jobs = { a, b };
  DATA
}
"""


def rented(declared: str = "", rows: str = "", data: str = "", machines: str = "{ p, q, r }") -> str:
    """The text; with no `machines` the data give them."""
    text = TEXT.replace("DECLARED", declared).replace("ROWS", rows).replace("DATA", data)
    return text.replace("  Machines = MACHINES;\n", f"  Machines = {machines};\n" if machines else "")


def line_of(text: str, piece: str) -> int:
    """The number of the line of a text that holds a piece."""
    return next(k for k, line in enumerate(text.splitlines(), start=1) if piece in line)


def read(text: str) -> tuple[CheckedModel, ValueStore]:
    """The model and data of the only scenario; raises DiagnosticError."""
    found = Diagnostics()
    loaded = workspace_from_text(text, "rented.gsm", found, Path.cwd())
    found.raise_if_errors()
    chosen, _ = check_solvable(loaded, choose_scenario(loaded))
    return chosen.model, read_data(loaded, chosen, permissions=Permissions(1 << 30)).store
