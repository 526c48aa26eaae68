"""Each kind of expression that could distinguish elements, and each that cannot."""

from __future__ import annotations

import pytest
from rented import line_of, read, rented

from gpusched_dsl.compiling.interchangeable.generic import Obstacle, names_read_by_decisions

# Declarations, rows and data; `words` of the obstacle. The set is ordered where the text reads its order.
APART = {
    "an element by its label": ("", 'constraint c: on["p"] <= 1;', '`"p"` selects a single'),
    "all but one label": ("", 'constraint c[m in Machines where m != "p"]: on[m] <= 1;', '`"p"` selects a single'),
    "argmin": ("", "constraint c: on[argmin[m in Machines] size[m]] <= 1;", "selects a single element"),
    "a parameter that is an element": (
        "param best within Machines = argmin[m in Machines] size[m];",
        "constraint c: on[best] <= 1;",
        "`best` selects a single",
    ),
    "a parameter of elements with elements as values": (
        "param twin[m in Machines] within Machines = m;",
        "constraint c[m in Machines]: on[twin[m]] <= on[m];",
        r"`twin\[m\]` selects a single",
    ),
    "a parameter of others with elements as values": (
        "param home[j in Jobs] within Machines = argmin[m in Machines] size[m];",
        "constraint c[j in Jobs, m in Machines where home[j] == m]: does[j, m] == 1;",
        r"`home\[j\]` selects a single",
    ),
}
IN_ORDER = {
    "before": ("constraint c[m in Machines, k in Machines where m < k]: on[m] <= on[k];", "`m` is used by its order"),
    "after or the same": (
        "constraint c[m in Machines, k in Machines where m >= k]: on[m] <= 1;",
        "`m` is used by its order",
    ),
    "the first": ("constraint c: on[first(Machines)] <= 1;", r"`first\(Machines\)` selects a single"),
    "the last": (
        "constraint c[m in Machines where m == last(Machines)]: on[m] <= 1;",
        r"`last\(Machines\)` selects a single",
    ),
    "the one before": ("constraint c[m in Machines]: (on[m-1] else 0) <= on[m];", "`m-1` selects a single"),
    "the next": (
        "constraint c[m in Machines where m != last(Machines)]: on[next(m)] <= 1;",
        r"`(last\(Machines\)|next\(m\))` selects a single",
    ),
}
ALIKE = {
    "nothing": ("", "", ""),
    "as subscripts": ("", "constraint c[j in Jobs, m in Machines]: does[j, m] <= on[m];", ""),
    "compared with one another": ("", "constraint c[m in Machines, k in Machines where m != k]: on[m] <= 1;", ""),
    "chosen by equality": ("", "constraint c[m in Machines]: sum[k in Machines where k == m] on[k] <= 1;", ""),
    "counted": ("", "constraint c: sum[m in Machines] on[m] <= count(Machines) - 1;", ""),
    "compared by their data": ("", "constraint c[m in Machines]: on[m] <= max[k in Machines] size[k] - size[m];", ""),
    "in a derived set": ("set Big = { m in Machines where size[m] > 1 };", "constraint c[m in Big]: on[m] == 1;", ""),
    "a set of its own": ("", "constraint c[m in Machines]: sum[k in { m }] on[k] <= 1;", ""),
}


@pytest.mark.parametrize("why", APART)
def test_what_tells_elements_apart(why: str) -> None:
    declared, rows, words = APART[why]
    text = rented(declared, rows)
    refuse(text, words)


@pytest.mark.parametrize("why", IN_ORDER)
def test_order_tells_elements_apart(why: str) -> None:
    rows, words = IN_ORDER[why]
    text = rented(rows=rows, machines="1..3").replace("set Machines;", "set Machines ordered;")
    refuse(text, words)


def refuse(text: str, words: str) -> None:
    model, _ = read(text)
    with pytest.raises(Obstacle, match=words) as refused:
        names_read_by_decisions(model, "Machines")
    assert refused.value.span is not None
    assert refused.value.span.line == line_of(text, "constraint c")
    names_read_by_decisions(model, "Jobs")  # jobs are alike all the same


@pytest.mark.parametrize("why", ALIKE)
def test_what_does_not(why: str) -> None:
    declared, rows, data = ALIKE[why]
    model, _ = read(rented(declared, rows, data))
    names_read_by_decisions(model, "Machines")


def test_what_is_read_is_listed() -> None:
    """By rows, bounds, costs, and lets that these use; not by what only leads to other parameters."""
    declared = """set Fast within Machines;
  param price[Machines] default 1;
  param base[Machines] default 1;
  param fee[m in Machines] = 2 * base[m];
  param most[Machines] default 5;
  param idle[Machines] default 0;
  param none[Machines] default 0;
  param never[Machines] default 0;
  var load[m in Machines] >= 0 <= most[m];
  let spent[m in Machines] = fee[m] * on[m];
  let every = sum[m in Machines] spent[m] + sum[m in Machines] idle[m] * on[m];
  let unused = sum[m in Machines] never[m] * on[m];"""
    rows = "constraint c: every + sum[m in Fast] price[m] * on[m] <= 9;"
    model, _ = read(rented(declared, rows, "Fast = { p };"))
    found = names_read_by_decisions(model, "Machines")
    assert set(found.params) == {"size", "most", "fee", "price", "idle"}
    assert set(found.sets) == {"Machines", "Jobs", "Fast"}
    assert not found.randoms
    text = rented(declared, rows)
    assert found.params["price"].line == line_of(text, "constraint c")


def test_what_lets_tell_apart_counts_where_they_are_used() -> None:
    declared = 'let one = on["p"];\n  let two = one + 1;'
    model, _ = read(rented(declared))
    names_read_by_decisions(model, "Machines")
    model, _ = read(rented(declared, "constraint c: two <= 1;"))
    with pytest.raises(Obstacle, match='`"p"` selects a single'):
        names_read_by_decisions(model, "Machines")


def test_bounds_and_index_lists_of_variables_are_looked_at() -> None:
    for variable in (
        'var load[m in Machines where m == "q"] >= 0;',
        'var load[m in Machines] >= 0 <= (if m == "q" then 1 else 2);',
    ):
        model, _ = read(rented(variable))
        with pytest.raises(Obstacle, match='`"q"` selects a single'):
            names_read_by_decisions(model, "Machines")
