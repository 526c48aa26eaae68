"""Broken files that cannot be in the repository, because they are not text, very large, or not files.

Each maker writes into an empty folder. What is to be checked there is `main.gsm`.
"""

from __future__ import annotations

import gzip
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

from gpusched_dsl.language.parsing.lexing import MAX_CHARACTERS, MAX_NESTING, MAX_TOKENS
from gpusched_dsl.language.source_files import MAX_BYTES
from gpusched_dsl.language.workspace import MAX_FILES

Maker = Callable[[Path], None]

MAIN = "main.gsm"
NOISE = random.Random(7).randbytes(4096)


def text(content: str) -> Maker:
    return raw(content.encode())


def raw(content: bytes) -> Maker:
    def make(folder: Path) -> None:
        (folder / MAIN).write_bytes(content)

    return make


# --- texts -----------------------------------------------------------------------------------------------------------


def nothing(folder: Path) -> None:
    """There is no file."""


def folder_for_a_file(folder: Path) -> None:
    (folder / MAIN).mkdir()


def pipe(folder: Path) -> None:
    os.mkfifo(folder / MAIN)


def link_in_a_circle(folder: Path) -> None:
    (folder / MAIN).symlink_to(folder / MAIN)


def many_imports(folder: Path) -> None:
    imports = "".join(f'import "parts/{i}.gsm";\n' for i in range(MAX_FILES + 5))
    (folder / "parts").mkdir()
    for i in range(MAX_FILES + 5):
        (folder / "parts" / f"{i}.gsm").write_text(f"model M{i} {{ set Jobs; }}\n")
    (folder / MAIN).write_text(imports)


def import_through_a_link(folder: Path) -> None:
    """A link inside the folder of the text that leads out of it."""
    inside = folder / "inside"
    inside.mkdir()
    (folder / "secret.gsm").write_text("model Secret { set Jobs; }\n")
    (inside / "linked.gsm").symlink_to(folder / "secret.gsm")
    (inside / "text.gsm").write_text('import "linked.gsm";\n')
    (folder / MAIN).symlink_to(inside / "text.gsm")


def import_of_binary(folder: Path) -> None:
    (folder / "noise.gsm").write_bytes(b"\xff" + NOISE)
    (folder / MAIN).write_text('import "noise.gsm";\n')


def nested(opening: str, inner: str, closing: str, depth: int) -> str:
    return f"model Deep {{\n  param x;\n  check: {opening * depth}{inner}{closing * depth} >= 0;\n}}\n"


DEEP = {
    "parentheses": nested("(", "x", ")", MAX_NESTING + 1),
    "very many parentheses": nested("(", "x", ")", 20_000),
    "unclosed parentheses": nested("(", "x", "", 20_000),
    "subscripts": nested("x[", "1", "]", MAX_NESTING + 1),
    "sets": "model Deep { set A = " + "{" * 500 + "1" + "}" * 500 + "; }\n",
    "minus signs": nested("-", "x", "", 3_000),
    "powers": nested("2 ^ ", "x", "", 3_000),
    "alternatives": nested("(if x > 0 then 1 else ", "x", ")", 1_000),
    "sums": "model Deep {\n  param x = " + " + ".join(["1"] * 3_000) + ";\n}\n",
    "negations": "model Deep {\n  param x;\n  check: " + "not " * 3_000 + "x > 0;\n}\n",
    "blocks": "model Deep {\n  option o in { a, b } default a;\n" + "when o == a {\n" * 1_000 + "}" * 1_000 + "\n}\n",
}

MISTAKES = "model Many {\n" + "".join(f"  param p{i} = * ;\n" for i in range(80)) + "}\n"
TOO_LONG = "model Long {\n" + "# a line of a comment\n" * (MAX_CHARACTERS // 20) + "}\n"
TOO_MANY_WORDS = "model Words {\n" + "set A;" * (MAX_TOKENS // 3 + 1) + "\n}\n"
TOO_LARGE = b"#" * (MAX_BYTES + 1)

# --- data ------------------------------------------------------------------------------------------------------------

ROWS = "job,hours\nj1,3\nj2,4\n"


def data(name: str, content: bytes | None = None, *, table: str = "", make: Maker | None = None) -> Maker:
    """A scenario that reads `job` and `hours` from a data file with this content, or made by `make`."""

    def write(folder: Path) -> None:
        chosen = f' table "{table}"' if table else ""
        (folder / MAIN).write_text(
            "model M {\n  set Jobs;\n  param hours[Jobs] in h;\n}\n"
            f'scenario S for M {{\n  data "{name}"{chosen} {{ Jobs = job; hours[job] = hours[h]; }}\n}}\n'
        )
        if content is not None:
            (folder / name).write_bytes(content)
        if make is not None:
            make(folder)

    return write


def sparse(name: str, size: int) -> Maker:
    """A file that is large and takes no room on the disk."""

    def make(folder: Path) -> None:
        with open(folder / name, "wb") as file:
            file.truncate(size)

    return make


def bomb(name: str, expanded: int) -> Maker:
    """A small gzip file that expands to so many bytes of rows: one compressed piece again and again."""

    def make(folder: Path) -> None:
        rows = b"j1,3\n" * 4_000_000
        piece = gzip.compress(rows, 9)
        with open(folder / name, "wb") as file:
            file.write(gzip.compress(b"job,hours\n"))
            for _ in range(expanded // len(rows) + 1):
                file.write(piece)

    return make


def linked_data(folder: Path) -> None:
    """The text and its data stand in a folder of their own; the data file is a link that leads out of it."""
    inside = folder / "inside"
    inside.mkdir()
    data("jobs.csv")(inside)
    (folder / "secret.csv").write_text(ROWS)
    (inside / "jobs.csv").symlink_to(folder / "secret.csv")
    (folder / MAIN).symlink_to(inside / MAIN)


def folder_of_data(folder: Path) -> None:
    (folder / "jobs.csv").mkdir()


def pipe_of_data(folder: Path) -> None:
    os.mkfifo(folder / "jobs.csv")


def database(*statements: str) -> Maker:
    def make(folder: Path) -> None:
        with sqlite3.connect(folder / "jobs.sqlite") as connection:
            for statement in statements:
                connection.execute(statement)

    return make


def parquet(**columns: object) -> bytes:
    import io

    import polars

    buffer = io.BytesIO()
    polars.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()
