"""Solve generated models for some time: `python -m tests.generated_models --minutes 10 --seed 1`.

Models are solved in processes of their own, so that neither a crash nor a hang of a solver ends the run. What is wrong
is shrunk and written to a folder as a `.gsm` file with a heading that says what is right.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from algebras import Unsupported  # noqa: E402
from configurations import BACKENDS, Configuration, Outcome, outcome, random_configuration  # noqa: E402
from enumerated_optimum import Reference, reference  # noqa: E402
from model_changes import SAME  # noqa: E402
from model_corpus import heading  # noqa: E402
from model_generator import Size, generated  # noqa: E402
from model_text import text_of  # noqa: E402
from model_tree import Model  # noqa: E402
from model_values import Outside  # noqa: E402
from shrinking import shrunk  # noqa: E402

SIZES = {
    "small": Size(),
    "large": Size(points=1 << 15, mixed=64, continuous=4, elements=4, constraints=6),
}


def work(first: int, count: int, size: Size, ways: int, backends: tuple[str, ...], folder: Path) -> None:
    """One process: a line of JSON when a model, a way to solve it, and the shrinking of what is wrong begin.

    One with its kind follows for every way, or for a model that cannot be enumerated.
    """
    for seed in range(first, first + count):
        print(json.dumps({"begins": seed}), flush=True)
        model = generated(seed, size)
        random = Random(-seed - 1)
        try:
            right = reference(model)
        except Unsupported:
            print(json.dumps({"seed": seed, "kind": "not enumerated"}), flush=True)
            continue
        for _ in range(ways):
            configuration = random_configuration(model, random, backends)
            print(json.dumps({"way": str(configuration)}), flush=True)
            try:
                found = outcome(model, right, configuration)
            except Unsupported:  # the changed data of a re-solve
                found = Outcome("not enumerated")
            line = {"seed": seed, "configuration": str(configuration), "kind": found.kind, "detail": found.detail}
            if found.is_wrong:
                print(json.dumps({"way": f"shrinking {found.kind}: {configuration}"}), flush=True)
                line["file"] = str(write_smallest(model, configuration, found, folder, str(seed)))
            print(json.dumps(line), flush=True)


def write_smallest(model: Model, configuration: Configuration, found: Outcome, folder: Path, name: str) -> Path:
    """A model that fails alike and needs no other change than those that its own text shows."""
    random = Random(configuration.seed)
    changed, plain = model, replace(configuration, changes=())
    for change in configuration.changes:
        changed = SAME[change](changed, random)

    def fails(candidate: Model, configuration: Configuration) -> bool:
        try:
            text_of(candidate)
            return outcome(candidate, reference(candidate), configuration).kind == found.kind
        except (Unsupported, Outside, LookupError, TypeError, AssertionError, ArithmeticError, ValueError):
            return False

    if fails(changed, plain):
        model, configuration = changed, plain
    small = shrunk(model, lambda candidate: fails(candidate, configuration), 400)
    right: Reference = reference(small)
    path = folder / f"{found.kind.replace(' ', '_')}_{name}.gsm"
    detail = outcome(small, right, configuration).detail
    comments = "".join(f"# {line}\n" for line in [str(configuration), *detail.splitlines()[:12]])
    path.write_text(heading(right) + comments + text_of(small), encoding="utf-8")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.generated_models", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--models", type=int, help="stop after so many, however long they take")
    parser.add_argument("--first", type=int, help="the number of the first model, instead of --seed")
    parser.add_argument("--seed", type=int, default=0, help="the first model is number seed * 1,000,000")
    parser.add_argument("--ways", type=int, default=4, help="configurations for each model")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--folder", type=Path, help="for what is wrong; a temporary one when not given")
    parser.add_argument("--batch", type=int, default=50, help="models for each process")
    parser.add_argument("--patience", type=float, default=180.0, help="seconds after which a model hangs")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="generated_models_"))
    folder.mkdir(parents=True, exist_ok=True)
    if given.worker is not None:
        backends = tuple(given.backends.split(","))
        work(given.worker, given.batch, SIZES[given.size], given.ways, backends, folder)
        return 0
    end = time.monotonic() + 60 * given.minutes
    counts: collections.Counter[str] = collections.Counter()
    at = given.seed * 1_000_000 if given.first is None else given.first
    models = 0
    while time.monotonic() < end if given.models is None else models < given.models:
        models += batch(at, given, folder, counts)
        at += given.batch
    for kind, count in counts.most_common():
        print(f"{count:8} {kind}")
    print(f"{models:8} models; what is wrong is in {folder}")
    return int(
        any(kind not in ("right", "known", "not enumerated") and not kind.startswith("refused") for kind in counts)
    )


def batch(first: int, given: argparse.Namespace, folder: Path, counts: collections.Counter[str]) -> int:
    """Run models in processes of their own and count what they say; gives how many models were begun.

    A process that is silent for `patience` seconds is ended, and a new one goes on behind the model where it was; so
    does one where a process crashes.
    """
    at, models, end = first, 0, first + given.batch
    while at < end:
        command = [
            sys.executable, str(HERE / "__main__.py"), "--worker", str(at), "--batch", str(end - at), "--ways",
            str(given.ways), "--size", given.size, "--backends", given.backends, "--folder", str(folder),
        ]  # fmt: skip
        seed, stage, hangs = at, "start", False
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for line in _lines(process.stdout.fileno(), given.patience):
                if line is None:
                    process.kill()
                    hangs = True
                    break
                if not line.startswith("{"):
                    continue
                told = json.loads(line)
                if "begins" in told:
                    seed, models, stage = told["begins"], models + 1, "reference"
                elif "way" in told:
                    stage = told["way"]
                else:
                    count(told, counts)
        if hangs:
            # What the reference enumerates is limited by counts: only a loaded machine is slower than patience.
            counts["slow reference" if stage == "reference" else "hang"] += 1
            print(f"model {seed} hangs: {stage}", flush=True)
        elif process.returncode:
            counts["crash"] += 1
            print(f"model {seed}: the process ended with {process.returncode}: {stage}", flush=True)
        else:
            break
        at = seed + 1
    return models


def _lines(stream: int, patience: float) -> Iterator[str | None]:
    """The lines that a process writes, as they come; None when it is silent for `patience` seconds."""
    rest = b""
    while True:
        if not select.select([stream], [], [], patience)[0]:
            yield None
            return
        read = os.read(stream, 1 << 16)
        if not read:
            return
        *lines, rest = (rest + read).split(b"\n")
        yield from (line.decode() for line in lines)


def count(told: dict[str, str], counts: collections.Counter[str]) -> None:
    kind = told["kind"]
    counts[f"refused: {told['detail'].split(']')[0].split('[')[-1]}" if kind == "refused" else kind] += 1
    if "file" in told:
        said = (told["detail"].splitlines() or [""])[0][:110]
        print(f"model {told['seed']}: {kind}: {said} ({told['configuration']}): {told['file']}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
