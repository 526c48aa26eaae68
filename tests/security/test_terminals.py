"""On a terminal, no text of others controls it, whatever the command; pipes get documents byte by byte."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.terminal import TerminalStream, harmless

if sys.platform == "win32":
    pytest.skip("terminals of POSIX", allow_module_level=True)

import pty

EVIL = "\x1b]0;title\x07\x1b[2J\x9b8m\u202egpj\x08\x1b[8m"
ALLOWED = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[12]?[AK]|\r")
TEXT = f'''# {EVIL}
import "gsdsl:trace_replay/model.gsm";
model M "{EVIL}" {{ set S "{EVIL}"; param w[S] in $ "{EVIL}"; var   x[s in S] >= 0 <= 3 "{EVIL}";
  maximize f "{EVIL}" in $: sum[s in S] w[s] * x[s]; constraint c "{EVIL}": sum[s in S] x[s] <= 2; }}
scenario V for M "{EVIL}" {{ S = {{ "a{EVIL}" }};  w = [2][$]; }}
scenario S for TraceReplay "{EVIL}" {{
  Nodes = {{ n }};  gpus = [1];
  data "jobs.csv" {{ Jobs = job;  exec_time[job] = time[h]; }}
  needs[j in Jobs] = 1;
}}
policy Mine for TraceReplay extends FIFO "{EVIL}" {{ }}
'''
COMMANDS: list[list[str]] = [
    ["show", "m.gsm"],
    ["show", f"gsdsl:{EVIL}"],
    ["fmt", "--diff", "m.gsm"],
    ["check", "m.gsm"],
    ["check", "bad.gsm"],
    ["check", f"missing{EVIL}.gsm"],
    ["policies", "m.gsm"],
    ["export", "m.gsm", "--to", "latex", "--scenario", "V"],
    ["export", "m.gsm", "--to", "markdown", "--scenario", "V"],
    ["export", "m.gsm", "--to", "lp", "--scenario", "V"],
    ["export", "m.gsm", "--to", "mps", "--scenario", "V"],
    ["explain", "m.gsm", "--scenario", "V"],
    ["solve", "m.gsm", "--scenario", "V", "--show", "all"],
    ["solve", "m.gsm", "--scenario", "V", "--csv", "-"],
    ["solve", "m.gsm", "--scenario", "S", "--method", "Mine", "--show", "all"],
    ["solve", "m.gsm", "--scenario", EVIL],
    ["solve", "m.gsm", f"--{EVIL}"],
    ["run", "m.gsm", "--scenario", "S", "--methods", "FIFO,Mine"],
    ["run", "m.gsm", "--scenario", "S", "--method", EVIL],
]
DRIVER = """
import json, sys
from gpusched_dsl.cli import main
for words in json.loads(sys.argv[1]):
    print("COMMAND", json.dumps(words), flush=True)
    try:
        main(words)
    except SystemExit:
        pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.gsm").write_text(TEXT, encoding="utf-8")
    (tmp_path / "bad.gsm").write_text(f'model M "{EVIL}" {{ var x{EVIL} >= }}', encoding="utf-8")
    (tmp_path / "jobs.csv").write_text(f"job,time\na{EVIL},1\n", encoding="utf-8")
    return tmp_path


def on_a_terminal(arguments: list[str], folder: Path) -> str:
    """What a process writes to a terminal."""
    own, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "300", "GSDSL_PYTHON_KERNELS": "1"}
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=other, stderr=other, env=environment
    )
    os.close(other)
    written = b""
    try:
        while data := os.read(own, 1 << 16):
            written += data
    except OSError:  # the other side is closed
        pass
    finally:
        os.close(own)
        process.wait(60)
    return written.decode("utf-8", "surrogateescape")


def test_no_command_prints_what_controls_a_terminal(folder: Path) -> None:
    written = on_a_terminal(["-c", DRIVER, json.dumps(COMMANDS)], folder)
    parts = written.split("COMMAND ")[1:]
    assert len(parts) == len(COMMANDS)
    reached = 0
    for words, part in zip(COMMANDS, parts, strict=True):
        _, _, printed = part.partition("\n")
        rest = ALLOWED.sub("", printed)
        controls = {c for c in rest if c not in "\n\t" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e")}
        assert not controls, (words, controls)
        assert not {"\x1b[8m", "\x1b[2J"} & set(re.findall(r"\x1b\[[0-9]*[A-Za-z]", printed)), words
        assert printed.strip(), words
        reached += "\ufffd" in printed
    assert reached >= len(COMMANDS) - 3  # nearly all of them print the text of others


def test_pipes_get_documents_as_they_are(folder: Path) -> None:
    for words in (["export", "m.gsm", "--to", "markdown", "--scenario", "V"], ["fmt", "--diff", "m.gsm"]):
        command = [sys.executable, "-m", "gpusched_dsl", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        assert EVIL.encode() in done.stdout


def test_what_is_harmless() -> None:
    assert harmless(EVIL) == "\ufffd]0;title\ufffd\ufffd[2J\ufffd8m\ufffdgpj\ufffd\ufffd[8m"
    kept = "tabs\tlines\r\nends\n \x1b[1;31mred\x1b[0m \x1b[m d\u00e9j\u00e0 \u4ef7"
    assert harmless(kept) == kept
    assert harmless("a\rb \x1b[30m \x1b[47m \x1b[1;8m \x1b") == "a\ufffdb \ufffd[30m \ufffd[47m \ufffd[1;8m \ufffd"


def test_bytes_to_a_terminal_are_filtered_too() -> None:
    inner = StringIO()
    stream = TerminalStream(inner)
    for byte in f"{EVIL} \u4ef7".encode():
        stream.buffer.write(bytes([byte]))
    stream.buffer.write(b"\xff")
    stream.writelines(["\x1b", "\x9b"])
    assert not set("\x1b\x9b\x07\x08\u202e") & set(inner.getvalue())
    assert "\u4ef7\\xff" in inner.getvalue()


def test_notes_and_results_are_harmless_in_pipes_too(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.say(EVIL)
    output.note(EVIL)
    shown = capsys.readouterr()
    assert shown.out == shown.err == harmless(EVIL) + "\n"
