"""Drivers of other packages, by entry points: used by their name, and told apart if they are defective."""

from __future__ import annotations

from pathlib import Path

import pytest
from drive_files import CLUSTER, write_files

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gsdsl_clusters.drivers.registry import BUILT_IN, driver_names
from gsdsl_clusters.drivers.settings import read_settings

PACKAGE = """
from gsdsl_clusters.drivers.protocol import Observation

class Rack:
    fields = frozenset({"comment", "rack"})
    def __init__(self, address): self.address = address
    def observe(self): return Observation({}, {})
    def act(self, action): pass

def rack(settings):
    if "address" not in settings:
        raise ValueError("address: is needed")
    return Rack(settings["address"])

def crash(settings): return settings["nothing"]
def half(settings): return object()
number = 3
"""
ENTRY_POINTS = """[gpusched_dsl.drivers]
rack = racks:rack
crash = racks:crash
half = racks:half
number = racks:number
absent = racks.absent:rack
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site"
    metadata = folder / "racks-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: racks\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "racks.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(folder)


def text_for(name: str, section: str = "") -> str:
    return CLUSTER.replace('"simulated"', f'"{name}"') + f"\n[{name}]\n{section}\n"


@pytest.mark.usefixtures("package")
def test_a_driver_of_another_package(tmp_path: Path) -> None:
    path = write_files(
        tmp_path, cluster=text_for("rack", 'address = "r7"').replace("[guard]", 'rack = "rack"\n[guard]')
    )
    assert set(driver_names()) == {*BUILT_IN, "rack", "crash", "half", "number", "absent"}
    settings, cluster = read_settings(path)
    assert (settings.driver, cluster.address) == ("rack", "r7")  # type: ignore[attr-defined]
    assert settings.sources["rack"].field == "rack"


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "underlined", "code", "message"),
    [
        ("rack", "[rack]", "GSM5402", "`address` is needed"),
        ("crash", '"crash"', "GSM5404", "the driver `crash` cannot be used: KeyError: 'nothing'"),
        ("half", '"half"', "GSM5404", "the driver `half` cannot be used: its object has no `observe`"),
        ("number", '"number"', "GSM5404", "the driver `number` cannot be used: `racks:number` is no function"),
        ("absent", '"absent"', "GSM5404", "the driver `absent` cannot be loaded: No module named"),
    ],
)
def test_drivers_that_cannot_be_used(name: str, underlined: str, code: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as raised:
        read_settings(write_files(tmp_path, cluster=text_for(name)))
    (found,) = raised.value.diagnostics
    assert (found.code, found.message[: len(message)]) == (code, message)
    assert isinstance(found.primary, Span)
    assert found.primary.text in (underlined, underlined.strip("[]"))
