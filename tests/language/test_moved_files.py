"""Paths that files of the standard library no longer have lead to where the files are now."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.moved_files import MOVED
from gpusched_dsl.language.source_files import library_folder
from gpusched_dsl.language.workspace import load_workspace, workspace_from_text


def importing(path: str) -> Diagnostic:
    """The diagnostic of a text that imports a path."""
    found = Diagnostics()
    workspace_from_text(f'import "{path}";', "text", found)
    (only,) = found
    return only


def test_moved_files_are_where_the_table_says() -> None:
    for old, new in MOVED.items():
        assert not (library_folder() / old).exists(), old
        assert (library_folder() / new).is_file(), new
    assert len(set(MOVED.values())) == len(MOVED)


@pytest.mark.quick(6)
@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_import_of_an_old_path_proposes_the_new_one(old: str, new: str) -> None:
    found = importing(f"gsdsl:{old}")
    assert (found.code, found.help) == ("GSM1001", f"did you mean `gsdsl:{new}`?")
    assert [edit.text for edit in found.edits] == [f'"gsdsl:{new}"']


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("capacity_plannig.gsm", "capacity_planning/model.gsm"),  # an old path, misspelt
        ("capacity_planning/modle.gsm", "capacity_planning/model.gsm"),
        ("capacity_plannig/scenarios/figure1.gsm", "capacity_planning/scenarios/figure1.gsm"),  # no such folder
        ("policies/gpu_shering.gsm", "gpu_sharing/policies.gsm"),
    ],
)
def test_a_misspelt_path_proposes_the_nearest_file(written: str, meant: str) -> None:
    assert importing(f"gsdsl:{written}").help == f"did you mean `gsdsl:{meant}`?"


def test_what_resembles_nothing_has_no_proposal() -> None:
    assert importing("gsdsl:nothing.gsm").help is None


def test_a_file_of_the_library_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(library_folder().parent)
    found = Diagnostics()
    load_workspace(Path(library_folder().name) / "figure1.gsm", found)
    assert [d.help for d in found] == ["did you mean `models/capacity_planning/scenarios/figure1.gsm`?"]
