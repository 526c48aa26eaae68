"""The code of gsdsl as an input of runs: in development installs, not in released wheels."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from campaign_files import plan_of, run_in, titles, write_files

from benchmarks.packages import ROOT, package_folders, sources
from gpusched_dsl.campaigns.code_fingerprint import PIN, WITHOUT_EFFECT, code_fingerprint, folders_hash, is_released
from gpusched_dsl.campaigns.execute import execute
from gpusched_dsl.campaigns.lockfile import verify
from gpusched_dsl.campaigns.store import Store

FINGERPRINT = "gpusched_dsl.campaigns.plan.code_fingerprint"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "site" / "gpusched_dsl"
    for name in ("solving/run.py", "cli/run.py", "grammar/gsm.lark", "reporting/pages/page.py", "models/m.gsm"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


def test_the_hash_is_that_of_sources_with_an_effect(package: Path) -> None:
    before = folders_hash([package])
    for name in ("cli/run.py", "reporting/pages/page.py", "models/m.gsm"):
        (package / name).write_text("changed")
    (package / "solving" / "__pycache__").mkdir()
    (package / "solving" / "__pycache__" / "x.py").write_text("")
    assert folders_hash([package]) == before
    found = {before}
    for name, text in (("solving/run.py", "changed"), ("grammar/gsm.lark", "changed"), ("solving/new.py", "")):
        (package / name).write_text(text)
        found.add(folders_hash([package]))
    (package / "solving" / "new.py").rename(package / "solving" / "renamed.py")
    found.add(folders_hash([package]))
    assert len(found) == 5


@pytest.mark.parametrize(
    ("origin", "released"),
    [
        (None, True),
        ({"archive_info": {}, "url": "file:///gpusched_dsl-0.1.0-py3-none-any.whl"}, True),
        ({"dir_info": {"editable": True}, "url": "file:///checkout"}, False),
        ({"dir_info": {}, "url": "file:///checkout"}, False),
        ({"vcs_info": {"vcs": "git", "commit_id": "0"}, "url": "https://example.org"}, False),
    ],
)
def test_only_wheels_are_known_by_their_version(package: Path, origin: object, released: bool) -> None:
    assert not is_released(package)  # a checkout has no metadata beside it
    metadata = package.parent / "gpusched_dsl-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "RECORD").write_text("")
    if origin is not None:
        (metadata / "direct_url.json").write_text(json.dumps(origin))
    assert is_released(package) is released


def test_the_fingerprint_is_that_of_all_packages_with_an_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[Path] = set()
    real = Path.read_bytes

    def recording(path: Path) -> bytes:
        read.add(path.resolve())
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", recording)
    code_fingerprint.cache_clear()
    assert code_fingerprint()
    results = ("gpusched_dsl", "gsdsl_backends", "gsdsl_formats")
    folders = [package_folders()[name] for name in results]
    files = {path for path in sources() if any(path.is_relative_to(folder) for folder in folders)}
    files = {path for path in files if not any(f"/{name}/" in path.as_posix() for name in WITHOUT_EFFECT)}
    assert files <= read
    assert ROOT / "grammar" / "gsm.lark" in read


def test_the_fingerprint_of_this_checkout_is_quick() -> None:
    code_fingerprint.cache_clear()
    start = time.process_time()
    assert len(code_fingerprint()) == 16
    assert time.process_time() - start < 2


def test_changed_code_changes_keys_and_verify_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, store = write_files(tmp_path / "files"), tmp_path / "store"
    keys = []
    for code in ("aaaa", "bbbb", ""):
        monkeypatch.setattr(FINGERPRINT, lambda code=code: code)
        monkeypatch.setattr("gpusched_dsl.campaigns.execute.code_fingerprint", lambda code=code: code)
        plan = plan_of(path)
        assert plan.pins.get(PIN, "") == code
        keys.append(set(titles(plan).values()))
        if code != "bbbb":
            assert not any(
                record.failed for record in run_in(store, plan.only({"scenario": ["Small"]})).records.values()
            )
        changes = verify(plan, Store(store, plan.name, read_only=True)).changes
        assert changes == (("the code of gsdsl changed: aaaa before, bbbb now",) if code == "bbbb" else ())
    assert not keys[0] & keys[1]
    assert not keys[1] & keys[2]
    monkeypatch.setattr(FINGERPRINT, lambda: "cccc")
    changes = verify(plan_of(path), Store(store, plan.name, read_only=True)).changes
    assert changes == ("gsdsl was a released version, and is a development install now",)


def test_a_worker_with_other_code_refuses_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = plan_of(write_files(tmp_path)).runs[0]
    monkeypatch.setattr("gpusched_dsl.campaigns.execute.code_fingerprint", lambda: "other")
    record = execute(run.task)
    assert (record.failed, record.diagnostics[0].code) == (True, "GSM5310")
    assert "the code of gsdsl in the worker" in record.diagnostics[0].message
