"""Prints the skipped tests of backends."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = [r for r in terminalreporter.stats.get("skipped", []) if "conformance" in r.nodeid]
    terminalreporter.section("conformance of backends")
    if not skipped:
        terminalreporter.write_line("every backend that was run took every problem")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"{report.nodeid.split('::')[-1]}: {reason}")
