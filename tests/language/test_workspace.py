"""Files, their imports, and forbidden imports."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.source_files import MAX_BYTES
from gpusched_dsl.language.workspace import MAX_FILES, Workspace, load_workspace, workspace_from_text

TOUR = Path(__file__).parent.parent / "tour"


def load(path: Path, *, allow_outside: bool = False) -> tuple[Workspace, list[Diagnostic]]:
    diagnostics = Diagnostics()
    return load_workspace(path, diagnostics, allow_outside=allow_outside), list(diagnostics)


def write(folder: Path, **files: str) -> Path:
    """Write `name.gsm` files; return the path of `main.gsm`."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.gsm"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "main.gsm"


def test_the_tour() -> None:
    workspace, found = load(TOUR / "figure1.gsm")
    assert found == []
    assert list(workspace.models) == ["CapacityPlanning"]
    assert list(workspace.scenarios) == list(workspace.tests) == ["Figure1"]
    assert list(workspace.policies) == ["Greedy", "RandomisedGreedy", "LocalSearch", "EDF"]
    assert list(workspace.onlines) == ["EveryEvent"]
    assert [Path(s.name).name for s in workspace.sources] == ["figure1.gsm", "capacity_planning.gsm"]
    assert [type(b).__name__ for b in workspace.main_blocks()] == ["Import", "Scenario", "Test"]
    assert workspace.base == TOUR.resolve()
    for name, digest in workspace.sha256.items():
        assert digest == hashlib.sha256(Path(name).read_bytes()).hexdigest()
    assert len(workspace.sha256) == 2


def test_imports_are_relative_to_the_importing_file_and_read_once(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main='import "sub/a.gsm"; import "b.gsm"; import "./sub/../b.gsm"; scenario S for A { }',
        sub__a='import "../b.gsm"; import "c.gsm"; model A { }',
        sub__c='import "../main.gsm"; model C { }',
        b="model B { }",
    )
    workspace, found = load(main)
    assert found == []
    assert sorted(workspace.models) == ["A", "B", "C"]
    assert len(workspace.files) == 4
    folder = workspace.folder_of(workspace.models["C"])
    assert folder == (tmp_path / "sub").resolve()
    assert workspace.root_of(workspace.models["C"]) == tmp_path.resolve()
    assert workspace.models["C"].span.source.name == os.path.normpath(tmp_path / "sub" / "c.gsm")


def test_two_blocks_of_one_name(tmp_path: Path) -> None:
    main = write(tmp_path, main='import "b.gsm"; model A { } scenario A for A { } model A { }', b="model A { }")
    workspace, found = load(main)
    assert [f.code for f in found] == ["GSM1032", "GSM1032"]
    for diagnostic in found:
        assert isinstance(diagnostic.primary, Span)
        assert diagnostic.primary.text == "A"
        assert isinstance(diagnostic.secondary[0].place, Span)
        assert diagnostic.secondary[0].place.start == workspace.models["A"].name.span.start


def test_syntax_errors_of_imported_files_are_reported(tmp_path: Path) -> None:
    main = write(tmp_path, main='import "b.gsm";', b="model A { set }")
    workspace, (found,) = load(main)
    assert found.code == "GSM1010"
    assert isinstance(found.primary, Span)
    assert found.primary.source.path == (tmp_path / "b.gsm").resolve()
    assert not workspace.incomplete


# --- files that cannot be read ---------------------------------------------------------------------------------------


def test_a_missing_file(tmp_path: Path) -> None:
    workspace, (found,) = load(write(tmp_path, figure="").parent / "figur.gsm")
    assert found.code == "GSM1001"
    assert found.help == "did you mean `figure.gsm`?"
    assert workspace.files == []
    assert workspace.main is None
    assert workspace.incomplete


def test_a_missing_import_points_at_the_import(tmp_path: Path) -> None:
    workspace, (found,) = load(write(tmp_path, main='import "bb.gsm";\nmodel M { }', b=""))
    assert found.code == "GSM1001"
    assert isinstance(found.primary, Span)
    assert found.primary.text == '"bb.gsm"'
    assert found.help == "did you mean `b.gsm`?"
    assert list(workspace.models) == ["M"]
    assert workspace.incomplete


def test_folders_pipes_and_forbidden_files(tmp_path: Path) -> None:
    _, (folder,) = load(tmp_path)
    assert folder.code == "GSM1001"
    assert "folder" in folder.message
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.gsm")
        _, (pipe,) = load(tmp_path / "pipe.gsm")
        assert pipe.code == "GSM1001"
    _, (null,) = load(tmp_path / "a\0b.gsm")
    assert null.code == "GSM1001"
    long = tmp_path / ("x" * 5000)
    assert [d.code for d in load(long)[1]] == ["GSM1001"]
    loop = tmp_path / "loop.gsm"
    loop.symlink_to(loop)
    assert [d.code for d in load(loop)[1]] == ["GSM1001"]


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"model M { } # caf\xe9\n", "GSM1002", "0xe9"),
        ("model M { }".encode("utf-16"), "GSM1002", "UTF-16"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "GSM1002", "zero"),
        (bytes(range(1, 256)) * 20, "GSM1002", "UTF-8"),
        (b"# " + b"x" * MAX_BYTES, "GSM1003", "larger"),
        (b"# " + b"x" * 1_000_001, "GSM1003", "characters"),
    ],
)
def test_what_is_no_text(tmp_path: Path, data: bytes, code: str, words: str) -> None:
    path = tmp_path / "m.gsm"
    path.write_bytes(data)
    _, (found,) = load(path)
    assert found.code == code
    assert words in found.message


def test_a_wrong_byte_is_located(tmp_path: Path) -> None:
    path = tmp_path / "m.gsm"
    path.write_bytes("model M {\n  # ü\n  set A; # ".encode() + b"\xff}")
    _, (found,) = load(path)
    assert isinstance(found.primary, Span)
    assert (found.primary.line, found.primary.column) == (3, 12)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "m.gsm"
    path.write_bytes(b"\xef\xbb\xbfmodel M { set A }")
    workspace, (found,) = load(path)
    assert isinstance(found.primary, Span)
    assert (found.primary.line, found.primary.column) == (1, 16)
    assert workspace.sha256[str(path)] == hashlib.sha256(path.read_bytes()).hexdigest()


# --- confinement -----------------------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a model beside the folder of the main file, and a symbolic link to it inside that."""
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.gsm").write_text("model Secret { }")
    (tmp_path / "in" / "link.gsm").symlink_to(tmp_path / "secret.gsm")
    (tmp_path / "in" / "dir").symlink_to(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("../secret.gsm", "GSM1030"),
        ("x/../../secret.gsm", "GSM1030"),
        ("link.gsm", "GSM1030"),
        ("dir/secret.gsm", "GSM1030"),
        ("/etc/passwd", "GSM1030"),
        ("//etc/passwd", "GSM1030"),
        ("..\\\\secret.gsm", "GSM1031"),
        ("C:/secret.gsm", "GSM1031"),
        ("https://example.org/a.gsm", "GSM1031"),
        ("", "GSM1031"),
        ("gsdsl:../gpusched_dsl/py.typed", "GSM1030"),
        ("gsdsl:/etc/passwd", "GSM1030"),
        ("gsdsl:nothing.gsm", "GSM1001"),
        (".", "GSM1001"),
    ],
)
def test_imports_stay_inside_the_folder(outside: Path, asked: str, code: str) -> None:
    main = write(outside / "in", main=f'import "{asked}";')
    workspace, (found,) = load(main)
    assert found.code == code
    assert isinstance(found.primary, Span)
    assert found.primary.text == f'"{asked}"'
    assert workspace.models == {}


@pytest.mark.parametrize("asked", ["../secret.gsm", "link.gsm", "dir/secret.gsm"])
def test_leaving_the_folder_can_be_allowed(outside: Path, asked: str) -> None:
    main = write(outside / "in", main=f'import "{asked}";')
    workspace, found = load(main, allow_outside=True)
    assert found == []
    assert list(workspace.models) == ["Secret"]
    assert workspace.root_of(workspace.models["Secret"]) is None


def test_an_imported_file_is_confined_to_the_folder_of_the_main_file(outside: Path) -> None:
    main = write(
        outside / "in", main='import "sub/a.gsm";', sub__a='import "../b.gsm"; import "../../secret.gsm";', b=""
    )
    workspace, (found,) = load(main)
    assert found.code == "GSM1030"
    assert len(workspace.files) == 3


def test_the_number_of_files_is_bounded(tmp_path: Path) -> None:
    for i in range(MAX_FILES + 5):
        (tmp_path / f"f{i}.gsm").write_text(f'import "f{i + 1}.gsm";')
    workspace, (found,) = load(tmp_path / "f0.gsm")
    assert found.code == "GSM1033"
    assert len(workspace.files) == MAX_FILES
    assert workspace.incomplete


# --- the standard library, and texts ---------------------------------------------------------------------------------


def test_the_standard_library(tmp_path: Path) -> None:
    main = write(tmp_path, main='import "gsdsl:capacity_planning/scenarios/figure1.gsm";')
    workspace, found = load(main)
    assert [f for f in found if f.severity == "error"] == []
    assert "CapacityPlanning" in workspace.models
    assert "Figure1" in workspace.scenarios
    names = [s.name for s in workspace.sources]
    assert names[1] == "gsdsl:capacity_planning/scenarios/figure1.gsm"
    assert "gsdsl:capacity_planning/model.gsm" in names
    library = workspace.root_of(workspace.scenarios["Figure1"])
    assert library is not None
    assert library.name == "models"


def test_texts_import_from_their_base_folder(tmp_path: Path) -> None:
    write(tmp_path, b="model B { }")
    diagnostics = Diagnostics()
    workspace = workspace_from_text('import "b.gsm"; model A { }', "a/b/<text>", diagnostics, tmp_path)
    assert list(diagnostics) == []
    assert list(workspace.models) == ["A", "B"]
    assert workspace.folder_of(workspace.models["A"]) == tmp_path.resolve()
    assert workspace.root_of(workspace.models["A"]) == tmp_path.resolve()


def test_texts_without_a_folder_import_only_from_the_library() -> None:
    diagnostics = Diagnostics()
    text = 'import "b.gsm"; import "gsdsl:capacity_planning/model.gsm";'
    workspace = workspace_from_text(text, "<text>", diagnostics)
    (found,) = diagnostics
    assert found.code == "GSM1030"
    assert "CapacityPlanning" in workspace.models
    assert workspace.base is None
