"""Names of columns and rows for LP and MPS files: those of the model, reduced to the allowed characters, and unique.

`run` at `("j1", "n1", 2)` becomes `run[j1,n1,2]` in MPS and `run(j1,n1,2)` in LP, where brackets have a meaning.
A character that a format does not allow becomes `_`; names that are too long or read like a keyword are replaced by
`c12` or `r12` (their number), and names that have become equal get `.12` (their number) at the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.domains import Component, Scalar
from gpusched_dsl.ir.problem import Family

LONGEST = 200


@dataclass(frozen=True)
class Alphabet:
    """The rules of a format: characters, the brackets around an index, and reserved names."""

    forbidden: re.Pattern[str]
    opening: str
    closing: str
    misread: str  # pattern of complete names that a reader takes for something else

    def clean(self, text: Scalar) -> str:
        return self.forbidden.sub("_", str(text))

    def misreads(self, name: str) -> bool:
        return re.match(self.misread, name, re.IGNORECASE) is not None


MPS = Alphabet(re.compile(r"[^A-Za-z0-9_.:@#&!%~-]"), "[", "]", r"^(?:[^A-Za-z_].*|rhs|rng|bnd|marker)$")
LP = Alphabet(
    re.compile(r"[^A-Za-z0-9_.@#&!%~]"),
    "(",
    ")",
    r"^(?:[^A-Za-z_].*|[eE][0-9.]*|inf|infinity|free|st|s\.t\.|such|subject|to|that|min|max|minimi[sz]e|maximi[sz]e"
    r"|minimum|maximum|bounds?|bin|binary|binaries|gen|general|generals|int|integer|integers|semi|semi-continuous"
    r"|semis|sos|sos1|sos2|sin|sec|lazy|user|end)$",
)


def entry_names(families: Sequence[Family], prefix: str, alphabet: Alphabet) -> pl.Series:
    """A name for every column or row of the families, in order; `prefix` begins the names that are only numbers."""
    parts = [_family_names(family, alphabet) for family in families if family.size]
    if not parts:
        return pl.Series("name", [], dtype=pl.String)
    return _usable(pl.concat(parts), prefix, alphabet)


def number_names(prefix: str, count: int) -> pl.Series:
    """Return `prefix` followed by 0, 1, ..."""
    return _text(pl.concat_str(pl.lit(prefix), pl.int_range(count).cast(pl.String)))


def _family_names(family: Family, alphabet: Alphabet) -> pl.Series:
    base = alphabet.clean(family.name) + (f".part{family.part + 1}" if family.part else "")
    domain = family.domain
    if not domain.components:
        return pl.Series("name", [base])
    labels = [
        _labels(component, codes, alphabet)
        for component, codes in zip(domain.components, domain.columns(), strict=True)
    ]
    index = pl.concat_str(*(pl.lit(column) for column in labels), separator=",")
    return _text(pl.concat_str(pl.lit(base + alphabet.opening), index, pl.lit(alphabet.closing)))


def _labels(component: Component, codes: Codes, alphabet: Alphabet) -> pl.Series:
    if component is None:
        return pl.Series(codes).cast(pl.String)
    return pl.Series([alphabet.clean(label) for label in component.labels], dtype=pl.String).gather(codes)


def _text(expression: pl.Expr) -> pl.Series:
    return pl.select(expression.alias("name")).to_series()


def _usable(names: pl.Series, prefix: str, alphabet: Alphabet) -> pl.Series:
    number = pl.int_range(pl.len()).cast(pl.String)
    name = pl.col("name")
    bad = (name.str.len_bytes() > LONGEST) | name.str.contains("(?i)" + alphabet.misread)
    frame = pl.DataFrame({"name": names}).with_columns(
        pl.when(bad).then(pl.concat_str(pl.lit(prefix), number)).otherwise(name).alias("name")
    )
    if frame["name"].n_unique() < frame.height:
        repeated = ~pl.col("name").is_first_distinct()
        numbered = pl.concat_str(name, pl.lit("."), number)
        frame = frame.with_columns(pl.when(repeated).then(numbered).otherwise(name).alias("name"))
    if frame["name"].n_unique() < frame.height:  # the author has names that end like ours
        frame = frame.with_columns(pl.concat_str(pl.lit(prefix), number).alias("name"))
    return frame["name"]
