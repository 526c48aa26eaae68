"""No damage of a Parquet file ends the process: sizes that ask for all memory, and thousands of damaged files."""

from __future__ import annotations

import io
import os
import random
import signal
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from gpusched_dsl.data.sources.files import FileLimits, Unreadable
from gpusched_dsl.data.sources.parquet import read_parquet
from gpusched_dsl.data.sources.parquet_trial import ParquetContent, ParquetReader, UnreadableFile, reader

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
CODES = {"GSM2007", "GSM2008", "GSM2011", "GSM2014"}


def written(frame: pl.DataFrame, compression: str = "uncompressed") -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression=compression, statistics=compression != "uncompressed")  # type: ignore[arg-type]
    return buffer.getvalue()


def outcome(data: bytes, columns: list[str]) -> str:
    """A code, or the rows."""
    try:
        return str(read_parquet(data, "a.parquet", columns, FileLimits()).rows)
    except Unreadable as refused:
        return refused.faults[0].code


SOUND = written(pl.DataFrame({"ok": [i % 3 == 0 for i in range(60)]}))
# The page has -37 values: they ask for 2^61 bytes, and an allocation that fails ends the process.
LESS_THAN_NONE = SOUND.replace(b"\x15x\x15\x00\x15\x06\x15\x06", b"\x15I\x15\x00\x15\x06\x15\x06", 1)


def test_a_negative_size() -> None:
    assert len(LESS_THAN_NONE) == len(SOUND)
    assert LESS_THAN_NONE != SOUND
    assert outcome(LESS_THAN_NONE, ["ok"]) == "GSM2008"
    assert outcome(SOUND, ["ok"]) == "60"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the trial reads its memory in /proc")
def test_a_file_that_takes_too_much_memory_ends_the_trial_only() -> None:
    """The repetitions of a value are 96 MB when they are read."""
    large = written(pl.DataFrame({"a": pl.repeat(1.0, 12_000_000, eager=True)}), "zstd")
    small = ParquetReader(memory=64 << 20)
    try:
        with pytest.raises(UnreadableFile):
            small.read(large, ["a"], 1 << 40)
        assert small.read(SOUND, ["ok"], 1 << 40) == ParquetContent(("ok",), 60)
    finally:
        small.close()


@posix
def test_a_process_that_was_ended_is_replaced() -> None:
    assert outcome(SOUND, ["ok"]) == "60"
    child = reader()._child
    assert child is not None
    os.kill(child.pid, signal.SIGKILL)
    child.wait(10)
    assert outcome(SOUND, ["ok"]) == "60"
    assert reader()._child is not child


def test_one_process_serves_all_threads() -> None:
    found: list[str] = []
    frames = [written(pl.DataFrame({"a": range(n)})) for n in range(1, 9)]
    threads = [threading.Thread(target=lambda d=d: found.append(outcome(d, ["a"]))) for d in frames]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [str(n) for n in range(1, 9)]


def test_names_and_sizes_are_told_without_reading() -> None:
    assert reader().read(SOUND, None, 0) == ParquetContent(("ok",))
    assert reader().read(SOUND, ["other"], 100) == ParquetContent(("ok",))
    assert reader().read(SOUND, ["ok"], 59) == ParquetContent(("ok",), too_large=True)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed", "lz4", "gzip"])
def test_damaged_files(compression: str, tmp_path: Path) -> None:
    """Bits, bytes and sizes damaged anywhere, and in the pages' heads and the footer more often."""
    rows = 60
    frame = pl.DataFrame(
        {
            "job": [f"j{i % 7}" for i in range(rows)],
            "hours": [i * 1.5 if i % 11 else None for i in range(rows)],
            "n": range(rows),
            "ok": [i % 3 == 0 for i in range(rows)],
        }
    )
    sound, rng = written(frame, compression), random.Random(compression)
    told: dict[str, int] = {}
    for _ in range(2000):
        found = outcome(damaged(sound, rng), frame.columns)
        told[found] = told.get(found, 0) + 1
    print(compression, told, file=sys.stderr)
    assert set(told) - CODES <= {found for found in told if found.isdigit()}
    assert told["GSM2008"] > 500


def damaged(sound: bytes, rng: random.Random) -> bytes:
    data = bytearray(sound)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(4, len(data)) if rng.random() < 0.5 else rng.randrange(max(len(data) - 700, 4), len(data))
        match rng.randrange(5):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.randrange(256)
            case 2:
                data[at] = 0xFF
            case 3:
                del data[at : at + rng.randrange(1, 5)]
            case _:
                data[at : at + rng.randrange(1, 6)] = b"\xff" * rng.randrange(1, 9)
    return bytes(data)
