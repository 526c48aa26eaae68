"""Streams of random numbers by name, so that drawing one thing otherwise leaves all others as they are."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl


def stream(seed: int, name: IntEnum) -> np.random.Generator:
    """A child of the seed: the same as `SeedSequence(seed).spawn(name + 1)[name]`, whatever else is drawn."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(name),)))


def number_jobs(prefix: str, count: int) -> pl.Series:
    """`j1`, `j2`, ..."""
    import polars as pl

    return pl.select(pl.format(prefix + "{}", pl.int_range(1, count + 1))).to_series()
