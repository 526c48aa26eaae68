"""A keystroke in a file of 2,000 lines: the time until `gsdsl lsp` has sent its diagnostics to the editor.

`python -m benchmarks.keystroke [--rounds N]` types, character by character, into the start, the middle and the end of
one model of 2,000 lines and of a file of many blocks, as an editor does over standard input and output: each change
is sent, and the diagnostics of its version are awaited. It prints the median, the 95th percentile and the largest
wall-clock time and processor time of the server, in milliseconds. `--strict` exits with 1 when a 95th percentile is
100 ms or more.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from benchmarks.machine import describe

ROOT = Path(__file__).resolve().parent.parent
TARGET = 100.0  # milliseconds
LINES = 2000
PAUSE = 0.1  # seconds between keystrokes
TYPED = " + 0 * (1 + 2)"


def one_model(lines: int, name: str = "Large") -> str:
    """A model of so many lines, with sums, units and conditions in its constraints."""
    parts = [f"model {name} {{", "  set Jobs;", "  set Nodes;"]
    for i in range(lines // 5):
        parts += [
            f"  param hours{i}[Jobs] in h >= 0;",
            f"  var on{i}[j in Jobs, n in Nodes] binary;",
            f"  let load{i}[n in Nodes] in h = sum[j in Jobs] hours{i}[j] * on{i}[j, n];",
            f"  constraint once{i}[j in Jobs]: sum[n in Nodes] on{i}[j, n] <= 1;",
            f"  constraint full{i}[n in Nodes]: load{i}[n] <= 8[h];",
        ]
    return "\n".join([*parts, "}", ""])


def many_blocks(lines: int) -> str:
    """Models of 100 lines, each with a scenario."""
    return "".join(
        one_model(100, f"M{i}") + f"scenario S{i} for M{i} {{ Jobs = {{ a, b }}; }}\n" for i in range(lines // 100)
    )


class Editor:
    """A client that waits for the diagnostics of the version that it sent."""

    def __init__(self) -> None:
        self.client = LanguageClient("benchmark", "1")
        self.versions: dict[str, int] = {}
        self.errors: dict[str, int] = {}
        self.arrived = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(found: types.PublishDiagnosticsParams) -> None:
            self.versions[found.uri] = found.version or 0
            self.errors[found.uri] = len(found.diagnostics)
            self.arrived.set()

    async def start(self, folder: Path) -> None:
        await self.client.start_io(sys.executable, "-m", "gpusched_dsl", "lsp")
        root = folder.as_uri()
        await self.client.initialize_async(
            types.InitializeParams(types.ClientCapabilities(), process_id=os.getpid(), root_uri=root)
        )
        self.client.initialized(types.InitializedParams())

    async def open(self, uri: str, text: str) -> None:
        item = types.TextDocumentItem(uri, "gsm", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await self.checked(uri, 1)

    async def checked(self, uri: str, version: int) -> None:
        while self.versions.get(uri, 0) < version:
            self.arrived.clear()
            await asyncio.wait_for(self.arrived.wait(), 120)

    def change(self, uri: str, version: int, text: str) -> None:
        document = types.VersionedTextDocumentIdentifier(version, uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def processor_milliseconds(self) -> float:
        """Return the processor time of the server so far, of all its threads."""
        server: Any = self.client._server
        threads = Path(f"/proc/{server.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6


def keystrokes(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text after each keystroke, and whether it is correct: typed at three constraints and taken back."""
    lines = text.split("\n")
    limits = [at for at, line in enumerate(lines) if "constraint once" in line]
    lengths = [*range(1, len(TYPED) + 1), *reversed(range(len(TYPED)))]
    for at in (limits[0], limits[len(limits) // 2], limits[-1]):
        for length in lengths:
            typed = TYPED[:length]
            changed = lines[at].replace(";", f"{typed};")
            yield "\n".join([*lines[:at], changed, *lines[at + 1 :]]), is_complete(typed)


def is_complete(typed: str) -> bool:
    """Whether a number with this behind it is an expression; in such sums Python agrees with the language."""
    try:
        compile(f"1{typed}", "", "eval")
    except SyntaxError:
        return False
    return True


async def measure(text: str, rounds: int) -> tuple[list[float], list[float]]:
    """Return the wall-clock and the processor milliseconds of each keystroke."""
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor()
        await editor.start(Path(folder))
        uri = (Path(folder) / "large.gsm").as_uri()
        await editor.open(uri, text)
        spent: list[float] = []
        processor: list[float] = []
        version = 1
        for _ in range(rounds):
            for changed, correct in keystrokes(text):
                version += 1
                await asyncio.sleep(PAUSE)  # the checks of other blocks end before the next key
                before, start = editor.processor_milliseconds(), time.perf_counter()
                editor.change(uri, version, changed)
                await editor.checked(uri, version)
                spent.append(1000 * (time.perf_counter() - start))
                processor.append(editor.processor_milliseconds() - before)
                if (editor.errors[uri] == 0) != correct:
                    raise AssertionError(f"wrong diagnostics of version {version}")
        await editor.stop()
    return spent, processor


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keystroke", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="how often everything is typed (default 2)")
    parser.add_argument("--strict", action="store_true", help="exit 1 when the target of 100 ms is missed")
    options = parser.parse_args()
    print(", ".join(f"{name} {fact}" for name, fact in describe().items()))
    print("\n| text | lines | keystrokes | clock | median ms | 95 % ms | largest ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    missed = False
    for name, text in (("one model", one_model(LINES)), ("many blocks", many_blocks(LINES))):
        for clock, spent in zip(("wall", "processor"), asyncio.run(measure(text, options.rounds)), strict=True):
            late = statistics.quantiles(spent, n=20)[-1]
            missed |= late >= TARGET
            row = f"| {name} | {text.count(chr(10))} | {len(spent)} | {clock} | {statistics.median(spent):.0f} "
            print(f"{row}| {late:.0f} | {max(spent):.0f} |")
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
