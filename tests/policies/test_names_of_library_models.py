"""A model of a text with the name of a model of the library is another model: it has no policies of the library."""

import re

import pytest

import gpusched_dsl as gs
from gpusched_dsl.policies.library import policy_files

NAMES = sorted(
    {
        name
        for path in policy_files()
        for name in re.findall(r"^policy \w+ .*?\bfor ([A-Z]\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
)
OWN = """
model NAME {
  set Jobs;  set Nodes;
  var run[Jobs, Nodes] binary;
  maximize runs: sum[j in Jobs, n in Nodes] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  placement run[j, n] { job j;  node n; }
}
scenario S for NAME { Jobs = { a, b, c };  Nodes = { n, m }; }
"""


@pytest.mark.parametrize("name", NAMES)
def test_an_own_model_has_the_policies_for_any_model(name: str) -> None:
    model = gs.loads(OWN.replace("NAME", name))
    assert model.solve("S", backend="FIFO").objective == 2
