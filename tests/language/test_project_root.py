"""An empty file `.gsdsl-root` opens a project to its files; nobody else's file does. A copy of the library works."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.project_root import MARKER
from gpusched_dsl.language.source_files import library_folder
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_assistants.tasks.reading import ModelFile


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose scenario, one folder below, imports the model above; a secret lies beside the project."""
    (tmp_path / "secret.gsm").write_text("model Secret { }", encoding="utf-8")
    top = tmp_path / "project"
    (top / "scenarios").mkdir(parents=True)
    (top / MARKER).touch()
    (top / "model.gsm").write_text("model M { }", encoding="utf-8")
    (top / "scenarios" / "s.gsm").write_text('import "../model.gsm"; scenario S for M { }', encoding="utf-8")
    return top


def codes(main: Path, ceiling: Path | None = None) -> list[str]:
    found = Diagnostics()
    load_workspace(main, found, ceiling=ceiling)
    return [each.code for each in found]


def test_a_marked_project_imports_from_all_of_itself(project: Path) -> None:
    assert codes(project / "scenarios" / "s.gsm") == []


def test_no_import_leaves_a_marked_project(project: Path) -> None:
    main = project / "scenarios" / "leaves.gsm"
    main.write_text('import "../../secret.gsm";', encoding="utf-8")
    assert codes(main) == ["GSM1030"]
    (project / "link.gsm").symlink_to(project.parent / "secret.gsm")
    main.write_text('import "../link.gsm";', encoding="utf-8")
    assert codes(main) == ["GSM1030"]


def test_without_the_marker_the_folder_of_the_main_file_is_the_limit(project: Path) -> None:
    (project / MARKER).unlink()
    assert codes(project / "scenarios" / "s.gsm") == ["GSM1030"]


@pytest.mark.parametrize("kind", ["link", "folder", "other"])
def test_a_marker_must_be_a_file_of_the_user(project: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a shared folder such as /tmp, another user's marker, or a link to a file of the user, opens nothing."""
    if kind == "link":
        (project / MARKER).unlink()
        (project / MARKER).symlink_to(project / "model.gsm")
    elif kind == "folder":
        (project / MARKER).unlink()
        (project / MARKER).mkdir()
    else:
        if os.getuid() == 0:
            os.chown(project / MARKER, 12345, -1)
        else:
            other = os.getuid() + 1
            monkeypatch.setattr(os, "getuid", lambda: other)
    assert codes(project / "scenarios" / "s.gsm") == ["GSM1030"]


def test_assistants_know_no_project_above_their_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "scenarios")
    _, found = ModelFile("s.gsm", Permissions()).read()
    assert [each.code for each in found] == ["GSM1030"]
    monkeypatch.chdir(project)
    _, found = ModelFile("scenarios/s.gsm", Permissions()).read()
    assert list(found) == []


def test_data_of_a_marked_project_may_lie_beside_its_scenarios(project: Path) -> None:
    from gpusched_dsl import api

    (project / "data").mkdir()
    (project / "data" / "d.csv").write_text("k,v\na,3\n", encoding="utf-8")
    (project / "model.gsm").write_text("model M { set K; param v[K]; minimize c: sum[k in K] v[k]; }", encoding="utf-8")
    main = project / "scenarios" / "s.gsm"
    main.write_text(
        'import "../model.gsm"; scenario S for M { data "../data/d.csv" { K = k; v[k] = v; } }', encoding="utf-8"
    )
    assert api.load(main).solve("S").objective == 3
    (project / MARKER).unlink()
    assert codes(main) == ["GSM1030"]


def test_shipped_scenarios_work_in_a_copy_of_the_library(tmp_path: Path) -> None:
    """As in a checkout beside an installed package: every scenario of a copy finds its model and its data."""
    copy = tmp_path / "models"
    shutil.copytree(library_folder(), copy, ignore=shutil.ignore_patterns("__pycache__", "data"))
    files = sorted(copy.glob("*/scenarios/*.gsm"))
    assert len(files) > 10
    for file in files:
        assert codes(file) == [], file
