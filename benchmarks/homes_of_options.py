"""`python -m benchmarks.homes_of_options [COMMIT ...]`: in how many files of the package options of a solve stand.

A file is a home of an option if it has its name as a parameter, a keyword, an attribute or a text (`heuristic`,
`--heuristic`). Files that define what the option does, such as those that run the heuristic, count, too. With commits,
also as it was there.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
from collections.abc import Iterator

from benchmarks.packages import ROOT
from benchmarks.report import table

OPTIONS = ("heuristic", "decompose", "within", "distinct_by", "second_opinion", "without", "verify", "time_limit")
FOLDERS = ("gpusched_dsl", "backends", "edges")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.homes_of_options", description=__doc__)
    parser.add_argument("commits", nargs="*", metavar="COMMIT")
    commits = [*parser.parse_args().commits, "HEAD"]
    counts = [homes(commit) for commit in commits]
    rows = [[option, *(str(count[option]) for count in counts)] for option in OPTIONS]
    print(table(["option", *commits], rows))
    return 0


def homes(commit: str) -> dict[str, int]:
    """The number of files of the package at a commit that have each option."""
    found = dict.fromkeys(OPTIONS, 0)
    for source in _sources(commit):
        words = {word for node in ast.walk(ast.parse(source)) for word in _words(node)}
        for option in OPTIONS:
            found[option] += not words.isdisjoint({option, "--" + option.replace("_", "-")})
    return found


def _sources(commit: str) -> Iterator[bytes]:
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", commit, "--", *FOLDERS], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    names = [name for name in listed.split("\n") if name.endswith(".py") and "/tests/" not in name]
    asked = "".join(f"{commit}:{name}\n" for name in names)
    answer = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=ROOT, input=asked.encode(), capture_output=True, check=True
    ).stdout
    at = 0
    for _ in names:
        line, _, _ = answer[at:].partition(b"\n")
        at += len(line) + 1
        size = int(line.split()[-1])
        yield answer[at : at + size]
        at += size + 1


def _words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.arg():
            yield node.arg
        case ast.keyword(arg=str(name)):
            yield name
        case ast.Attribute():
            yield node.attr
        case ast.Constant(value=str(text)):
            yield text
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


if __name__ == "__main__":
    raise SystemExit(main())
