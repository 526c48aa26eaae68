"""`resolve` keeps the data files it has read; `solve` reads them again."""

from __future__ import annotations

from pathlib import Path

import gpusched_dsl as gs

TEXT = """
model M { set A; param need[A]; param price; var x[A] >= 0; minimize total: sum[a in A] price * x[a];
          constraint enough[a in A]: x[a] >= need[a]; }
scenario S for M { price = 2; data "need.csv" { A = a; need[a] = need; } }
"""


def test_files_are_read_by_solve_and_kept_for_resolve(tmp_path: Path) -> None:
    (tmp_path / "m.gsm").write_text(TEXT)
    need = tmp_path / "need.csv"
    need.write_text("a,need\nu,1\nv,2\n")
    with gs.load(tmp_path / "m.gsm") as model:
        assert model.solve("S").objective == 6.0
        need.write_text("a,need\nu,10\nv,20\n")
        model.set("price", 3)
        again = model.resolve()
        assert (again.objective, again.rebuilt) == (9.0, None)
        assert model.solve("S").objective == 90.0
