"""The settings that the page on the command line shows are read: its rows of `--set`, and its CSV file."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import gpusched_dsl as gs
from gpusched_dsl.language.pages import read_page, section

TEXT = """\
model Rented {
  option node_rule in { free, force } default free;
  set Jobs;
  set Types;
  param period in min default 60[min];
  param deadline[Jobs] in h default 10[h];
  param weight[Jobs] in $/h default 1[$/h];
  param exec_time[Jobs, Types, 1..2] in h default 5[h];
  var late[j in Jobs] in h >= 0;
  minimize cost in $: sum[j in Jobs] weight[j] * late[j];
  constraint due[j in Jobs]: late[j] + deadline[j] >= exec_time[j, "v1", 2];
}
scenario S for Rented { Jobs = { j030, j1, "job-7" };  Types = { v1 };  weight["j1"] = 3[$/h]; }
"""


def settings() -> list[tuple[str, str]]:
    """Names and values of the rows, without those of generators."""
    rows = re.findall(r"^\| `--set ([^`]*)` \|", section(read_page("cli"), "Changing data"), re.MULTILINE)
    words = [shlex.split(row)[0] for row in rows if "seed" not in row]
    return [(name, value) for name, _, value in (word.rpartition("=") for word in words)]


def test_rows_of_settings_are_read() -> None:
    assert len(settings()) >= 5
    for name, value in settings():
        result = gs.loads(TEXT).solve("S", settings={name: value})
        assert result.status == "optimal", name


def test_the_file_of_settings(tmp_path: Path) -> None:
    block = re.search(r"^```csv\n(name,value,unit\n.*?)^```$", read_page("cli"), re.MULTILINE | re.DOTALL)
    assert block is not None
    (tmp_path / "overrides.csv").write_text(block[1], encoding="utf-8")
    found = gs.read_settings(tmp_path / "overrides.csv")
    result = gs.loads(TEXT).solve("S", settings=found)
    assert dict(result["deadline"].select("Jobs", "value").rows())["j030"] == 20
    assert [row[-1] for row in result["exec_time"].rows() if row[:3] == ("j1", "v1", 2)] == [3]
