"""Units: exact scales, algebra, conversion, text, and messages about unknown units."""

from fractions import Fraction

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.units import (
    DIMENSIONLESS,
    UNITS,
    convertible,
    factor,
    has_dimension,
    is_reciprocal_rate,
    parse_unit_text,
    reads_as_duration,
    unit_of,
)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("h", "s", 3600),
        ("min", "h", Fraction(1, 60)),
        ("d", "h", 24),
        ("week", "day", 7),
        ("ms", "s", Fraction(1, 1000)),
        ("us", "ns", 1000),
        ("W*min", "kWh", Fraction(1, 60000)),
        ("$/MWh", "$/(W*s)", Fraction(1, 3_600_000_000)),
        ("kW", "J/s", 1000),
        ("Wh", "J", 3600),
        ("GB", "MB", 1000),
        ("GiB", "B", 1024**3),
        ("GiB", "GB", Fraction(1024**3, 10**9)),
        ("Gbit/s", "MB/s", 125),
        ("USD", "$", 1),
        ("GPU*h", "gpu*min", 60),
        ("%", "1", Fraction(1, 100)),
        ("Hz", "1/min", 60),
        ("$/h", "$/s", Fraction(1, 3600)),
        ("g/kWh", "kg/MWh", 1),
    ],
)
def test_conversion_factors_are_exact(source: str, target: str, expected: Fraction) -> None:
    one, other = parse_unit_text(source), parse_unit_text(target)
    assert convertible(one, other)
    assert factor(one, other) == expected
    assert factor(other, one) == 1 / Fraction(expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("h", "$"),
        ("$", "EUR"),
        ("EUR", "GBP"),
        ("epoch", "request"),
        ("gpu", "job"),
        ("W", "Wh"),
        ("B", "1"),
        ("h^2", "h"),
    ],
)
def test_different_dimensions_do_not_convert(one: str, other: str) -> None:
    assert not convertible(parse_unit_text(one), parse_unit_text(other))


def test_algebra() -> None:
    hour, dollar = UNITS["h"], UNITS["$"]
    assert dollar / hour * hour == dollar
    assert (hour**2).dimension == (("time", 2),)
    assert hour / hour == DIMENSIONLESS
    assert (hour / UNITS["min"]).is_dimensionless
    assert (hour / UNITS["min"]).scale == 60
    assert hour**0 == DIMENSIONLESS
    assert UNITS["GPU"] / UNITS["gpu"] == DIMENSIONLESS
    assert (UNITS["GPU"] / UNITS["gpu"]).text == "1"


def test_equal_units_may_be_written_differently() -> None:
    assert UNITS["d"] == UNITS["day"]
    assert UNITS["W"] == parse_unit_text("J/s")
    assert hash(UNITS["W"]) == hash(parse_unit_text("J/s"))
    assert UNITS["h"] != UNITS["min"]


@pytest.mark.parametrize("text", ["h", "$/h", "$/(GPU*h)", "W*min/request", "1/h", "h^2", "1", "$/MWh", "%"])
def test_text_round_trip(text: str) -> None:
    assert parse_unit_text(text).text == text


def test_products_cancel_equal_symbols_in_their_text() -> None:
    assert (parse_unit_text("$/h") * UNITS["h"]).text == "$"
    assert (parse_unit_text("$/MWh") * UNITS["min"] * UNITS["W"]).text == "$*min*W/MWh"


@pytest.mark.parametrize("text", ["parsec", "3h", "h @"])
def test_texts_that_are_no_unit(text: str) -> None:
    with pytest.raises(ValueError, match="unit"):
        parse_unit_text(text)


def test_roots() -> None:
    assert (UNITS["h"] ** 2).root() == UNITS["h"]
    assert UNITS["h"].root() is None
    assert (UNITS["h"] * UNITS["s"]).root() is None
    assert (UNITS["h"] * UNITS["s"]).base.root() == UNITS["s"]


def test_base_unit() -> None:
    base = parse_unit_text("$/MWh").base
    assert base.text == "$/J"
    assert base.scale == 1


def test_reciprocal_rates_read_as_durations() -> None:
    assert is_reciprocal_rate(parse_unit_text("min/request"))
    assert not is_reciprocal_rate(parse_unit_text("min/gpu"))
    assert not is_reciprocal_rate(parse_unit_text("request/min"))
    assert reads_as_duration(parse_unit_text("min/request"), UNITS["s"])
    assert reads_as_duration(UNITS["s"], parse_unit_text("min/epoch"))
    assert not reads_as_duration(UNITS["s"], UNITS["min"])
    assert not reads_as_duration(UNITS["$"], parse_unit_text("min/epoch"))


def test_has_dimension_takes_any_currency() -> None:
    assert has_dimension(parse_unit_text("EUR/h"), money=1, time=-1)
    assert has_dimension(UNITS["$"], money=1)
    assert not has_dimension(parse_unit_text("EUR*$"), money=1)
    assert not has_dimension(UNITS["h"], money=1)


def test_unknown_unit_is_underlined_and_a_near_one_offered() -> None:
    source = Source("u.gsm", "in $/hr")
    node = tree.UnitNode(
        span=source.span(3, 7),
        factors=(
            tree.UnitFactor(span=source.span(3, 4), symbol="$", exponent=1),
            tree.UnitFactor(span=source.span(5, 7), symbol="hr", exponent=-1),
        ),
    )
    diagnostics = Diagnostics()
    assert unit_of(node, diagnostics) is None
    [found] = diagnostics
    assert found.code == "GSM1301"
    assert found.primary is not None
    assert source.text[5:7] == "hr"
    assert found.primary == source.span(5, 7)
    assert found.help


def test_unit_of_a_node() -> None:
    source = Source("u.gsm", "$/(GPU*h)")
    node = tree.UnitNode(
        span=source.span(0, 9),
        factors=(
            tree.UnitFactor(span=source.span(0, 1), symbol="$", exponent=1),
            tree.UnitFactor(span=source.span(3, 6), symbol="GPU", exponent=-1),
            tree.UnitFactor(span=source.span(7, 8), symbol="h", exponent=-1),
        ),
    )
    diagnostics = Diagnostics()
    assert unit_of(node, diagnostics) == parse_unit_text("$/(gpu*h)")
    assert not len(diagnostics)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("floor(t / 1[h])", 1), ("ceil(t / 1[h])", 2), ("round(t / 1[h])", 2), ("floor(35[%] + t / 1[h])", 1),
        ("floor(floor(t / 1[h]) / 1[min/h])", 60), ("floor(t) / 1[min]", 95), ("floor(t / 1[min])", 95),
        ("floor(250[%])", 2),
        ("(if floor(t / 1[h]) == 1 then 5 else 0)", 5), ("(if 1.2 * floor(t / 1[h]) == 1.2 then 5 else 0)", 5),
    ],
)  # fmt: skip
def test_ratios_are_rounded_as_numbers(expression: str, value: float) -> None:
    """A ratio of two units of time is a plain number, 95.5 min / 1 h is 1.59; a quantity is rounded in its own unit."""
    text = f"model M {{ param t in min;  param p = {expression};  var x;  minimize o: x;  constraint c: x >= p; }}"
    result = gs.loads(text + " scenario S for M { t = 95.5[min]; }").solve()
    assert result.objective == pytest.approx(value)


def test_a_ratio_that_is_rounded_may_count_elements() -> None:
    text = (
        "model M { param t in min;  set H = 0..floor(t / 1[h]);  var x;  minimize o: x;  constraint c: x >= count(H); }"
    )
    assert gs.loads(text + " scenario S for M { t = 185[min]; }").solve().objective == pytest.approx(4)
