"""The scripts of `gsdsl completion` in their shells; a shell that is not installed is reported as skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpusched_dsl.cli.completion import SCRIPTS

pytestmark = pytest.mark.slow


def in_shell(shell: str, program: str, folder: Path) -> list[str]:
    """The lines that a program of a shell writes; `gsdsl` is the command of this interpreter."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    command = folder / "bin" / "gsdsl"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpusched_dsl "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(
        [shell, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def bash(words: list[str], folder: Path) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in words)
    call = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _gsdsl"
    program = f"{SCRIPTS['bash']}\n{call}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return in_shell("bash", program, folder)


def test_bash(tmp_path: Path) -> None:
    (tmp_path / "my plan.gsm").write_text("scenario Monday for M { }\nmodel M { set Jobs; }\n", encoding="utf-8")
    assert bash(["gsdsl", "so"], tmp_path) == ["solve"]
    assert "--time-limit" in bash(["gsdsl", "solve", "--"], tmp_path)
    assert bash(["gsdsl", "solve", "my"], tmp_path) == ["my plan.gsm"]
    assert bash(["gsdsl", "solve", "my plan.gsm", "--scenario", ""], tmp_path) == ["Monday"]
    assert bash(["gsdsl", "explain", "GSM300"], tmp_path)[0] == "GSM3001"
    assert bash(["gsdsl", "mcp", "b"], tmp_path) == ["bin"]


def test_fish(tmp_path: Path) -> None:
    script = tmp_path / "gsdsl.fish"
    script.write_text(SCRIPTS["fish"], encoding="utf-8")
    found = in_shell("fish", f"source {script}; complete -C 'gsdsl so'", tmp_path)
    assert [line.split("\t")[0] for line in found] == ["solve"]
    found = in_shell("fish", f"source {script}; complete -C 'gsdsl solve --t'", tmp_path)
    assert any(line.startswith("--time-limit") for line in found)


def test_zsh(tmp_path: Path) -> None:
    """Zsh completes only in a terminal: the script is loaded, and its candidates are caught where it offers them."""
    script = tmp_path / "gsdsl.zsh"
    script.write_text(SCRIPTS["zsh"], encoding="utf-8")
    program = f"""
compdef() {{ :; }}; _files() {{ print files; }}; _describe() {{ print -l "${{(@P)2}}"; }}
source {script}; words=(gsdsl so); CURRENT=2; _gsdsl
"""
    assert [line.split(":")[0] for line in in_shell("zsh", program, tmp_path)] == ["solve"]
