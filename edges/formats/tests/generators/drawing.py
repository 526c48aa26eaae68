"""Tables drawn by generators, with options as a text would state them."""

from __future__ import annotations

import polars as pl

from gpusched_dsl.data.formats.registry import generator, shipped
from gpusched_dsl.data.formats.shape import Setting


def draw(name: str, **options: Setting) -> pl.DataFrame:
    known = generator(name)
    settings = {option.name: option.default for option in known.options if option.default is not None}
    assert options.keys() <= {option.name for option in known.options}
    table = known.read(None, settings | options)
    assert table.rows == table.frame.height
    return table.frame


def family(prefix: str) -> list[str]:
    return [name for name in shipped(True) if name.startswith(prefix)]


def within_standard_errors(found: pl.Series, mean: float, deviation: float, errors: float = 4.0) -> bool:
    """Whether a sample mean is as near to the mean of its law as its size says."""
    sample = found.mean()
    assert isinstance(sample, float)
    return abs(sample - mean) <= errors * deviation / len(found) ** 0.5
