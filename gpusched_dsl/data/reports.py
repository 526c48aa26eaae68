"""Reports of errors in data: each kind once, with the first examples, their places and the total count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.data.chunks import ColumnChunk, Place
from gpusched_dsl.data.labels import texts
from gpusched_dsl.data.short_columns import as_series
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import Component, Domain, Scalar, Universe, decode
from gpusched_dsl.language.checked import CheckedParam, CheckedSet
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics

SHOWN = 4
_LABELS_COMPARED = 5000


def quote(label: Scalar) -> str:
    """A label as it is written in a model: text in quotes, an integer bare."""
    return f'"{label}"' if isinstance(label, str) else str(label)


def tuple_text(components: Sequence[Component], columns: Sequence[Codes], at: int) -> str:
    """The element in row `at` of some code columns: `"j1"` or `("v1", 2)`."""
    items = [quote(label) for label in decode(components, [c[at : at + 1] for c in columns])[0]]
    return items[0] if len(items) == 1 else f"({', '.join(items)})"


def key_text(name: str, labels: Sequence[Scalar]) -> str:
    """`exec_time["j1", "v1", 2]`."""
    return f"{name}[{', '.join(map(quote, labels))}]" if labels else name


def keys_at(name: str, domain: Domain, positions: Sequence[int]) -> list[str]:
    return [key_text(name, domain.tuple_at(position)) for position in positions]


def place_text(place: Place) -> str:
    """A place in a few words: `jobs.csv:3, column job` or `model.gsm:4:7`."""
    return str(place)


def examples(shown: Sequence[str], count: int) -> tuple[str, ...]:
    """Notes: the examples, and how many more of the `count` there are."""
    shown = list(shown[: SHOWN - 1])
    return (*shown, f"… and {count - len(shown)} more") if count > len(shown) else tuple(shown)


def declaration_label(checked: CheckedParam | CheckedSet) -> Label:
    return Label(checked.span, f"`{checked.name}` is declared here")


def report_nothing(checked: CheckedParam | CheckedSet, diagnostics: Diagnostics) -> None:
    """GSM2115: a set or parameter that needs data and gets none at all."""
    kind = "set" if isinstance(checked, CheckedSet) else "parameter"
    what = "its elements" if isinstance(checked, CheckedSet) else "its values, or state a `default` in the declaration"
    diagnostics.error(
        "GSM2115",
        f"no data for {kind} `{checked.name}`",
        checked.span,
        "declared here",
        help=f"give {what}",
    )


def report_empty_keys(
    checked: CheckedParam | CheckedSet, chunk: ColumnChunk, at: int, empty: Bools, diagnostics: Diagnostics
) -> None:
    """Report GSM2107: empty key cells of component `at`."""
    rows = np.flatnonzero(empty)
    count = len(rows)
    message = f"a key of `{checked.name}` is empty" if count == 1 else f"{count} keys of `{checked.name}` are empty"
    diagnostics.error(
        "GSM2107",
        message,
        chunk.origin.place(int(rows[0]), at),
        secondary=[Label(chunk.origin.statement, "given here"), declaration_label(checked)],
        notes=examples([place_text(chunk.origin.place(row, at)) for row in rows[1:SHOWN].tolist()], count - 1),
    )


def report_unknown_keys(
    checked: CheckedParam | CheckedSet,
    chunk: ColumnChunk,
    at: int,
    component: Component,
    unknown: Bools,
    diagnostics: Diagnostics,
) -> None:
    """GSM2103: key cells of component `at` that name no element of its set."""
    rows = np.flatnonzero(unknown)
    written = as_series(texts(chunk.keys[at])).gather(rows)
    distinct = written.is_first_distinct().to_numpy()
    firsts, labels = rows[distinct], written.filter(distinct).to_list()
    what = "is not an integer" if component is None else f"is not an element of `{component.name}`"
    message = f"`{labels[0]}` {what}"
    if len(labels) > 1:
        many = "are not integers" if component is None else f"are not elements of `{component.name}`"
        message = f"{len(labels)} labels {many}, such as `{labels[0]}`"
    shown = [
        f"`{label}` ({place_text(chunk.origin.place(row, at))})"
        for label, row in zip(labels[1:SHOWN], firsts[1:SHOWN].tolist(), strict=True)
    ]
    notes = examples(shown, len(labels) - 1)
    if len(rows) > len(labels):
        notes = (*notes, f"{len(rows)} rows are affected")
    diagnostics.error(
        "GSM2103",
        message,
        chunk.origin.place(int(rows[0]), at),
        f"{'element' if isinstance(checked, CheckedSet) else 'key'} of `{checked.name}`",
        secondary=[Label(chunk.origin.statement, "given here"), declaration_label(checked)],
        notes=notes,
        help=_near(labels[0], component),
    )


def _near(label: str, component: Universe | None) -> str | None:
    if component is None:
        return None
    if not component.labels:
        return f"`{component.name}` has no elements"
    return did_you_mean(label, [str(known) for known in component.labels[:_LABELS_COMPARED]])
