"""Settings of many single values become columns, with the same values and errors as one by one."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.scenarios import many_settings

MODEL = """
model M {
  set Jobs;
  set Kinds;
  set Slots ordered;
  param deadline[Jobs] in h >= 0 default 1[h];
  param copies[Jobs, Slots] integer default 1;
  param kind[Jobs] within Kinds default "a";
  param owner[Jobs] symbol default "nobody";
  param power[h in Slots] in kW default 1[kW];
  var x >= 0 <= 1;
  maximize total: x;
}
scenario S for M {
  Jobs = { j1, j2, j3, "j-4", "j 5", 6x, j7, j8, j9, j10, j11, j12, j13, j14, j15, j16, j17, j18, j19, j20 };
  Kinds = { a, b, "c-d" };
  Slots = 1..24;
}
""".replace("6x", '"6x"')
JOBS = ["j1", "j2", "j3", '"j-4"', '"j 5"', '"6x"', *(f"j{n}" for n in range(7, 21))]
NAMES = ("deadline", "copies", "kind", "owner", "power")


@pytest.fixture(scope="module")
def model() -> gs.Model:
    return gs.loads(MODEL)


def both(
    model: gs.Model, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, list[object]] | set[str], dict[str, list[object]] | set[str]]:
    """The values of all parameters, or the codes of the errors: with columns, and one by one."""

    def found() -> dict[str, list[object]] | set[str]:
        try:
            result = model.solve("S", settings=settings)
        except gs.DiagnosticError as error:
            return {diagnostic.code for diagnostic in error.diagnostics}
        return {name: result.table(name).rows() for name in NAMES}

    as_columns = found()
    with monkeypatch.context() as patch:
        patch.setattr(many_settings, "LEAST", 10**9)
        return as_columns, found()


@pytest.mark.parametrize("seed", range(6))
def test_columns_have_the_values_of_single_settings(
    model: gs.Model, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    settings: dict[str, str] = {}
    if seed % 2:
        settings["deadline[j in Jobs]"] = "7[h]"
    for job in draw.sample(JOBS, 18):
        settings[f"deadline[{job}]"] = draw.choice(["2.5[h]", "90[min]", "1e1[h]", "30[ min ]"])
        settings[f"copies[ {job} , {draw.randint(1, 24)}]"] = str(draw.randint(-3, 9))
        settings[f"copies[{job}, 3]"] = "4.0"
        settings[f"kind[{job}]"] = draw.choice(["b", '"c-d"', '"b"'])
        settings[f"owner[{job}]"] = draw.choice(["ann", '"bob"'])
    settings |= {f"power[{h}]": f"{h}[W]" for h in draw.sample(range(1, 25), 20)}
    if seed % 3 == 0:
        settings["deadline[j1]"] = "2 * 3[h]"
    as_columns, one_by_one = both(model, settings, monkeypatch)
    assert isinstance(one_by_one, dict)
    assert as_columns == one_by_one
    assert len({row[-1] for row in one_by_one["deadline"]}) > 1


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"deadline[j99]": "2[h]"}, "GSM2103"),
        ({'deadline["j1"]': "3[h]"}, "none: the last one applies"),
        ({'deadline["j1"]': "3[h] + 1[h]"}, "none: the last one applies"),
        ({"deadline[j1]": "2"}, "GSM1303"),
        ({"deadline[j1]": "2[GB]"}, "GSM1302"),
        ({"deadline[j1]": "-2[h]"}, "GSM2109"),
        ({"deadline[j1, 2]": "2[h]"}, "GSM1507"),
        ({"deadline[sum]": "2[h]"}, "GSM1513"),
        ({f"copies[{job}, 3]": "1.5" for job in JOBS}, "GSM1207"),
        ({f"copies[{job}, 25]": "1" for job in JOBS}, "GSM2103"),
        ({f"kind[{job}]": "z" for job in JOBS}, "GSM2108"),
        ({f"kind[{job}]": "3" for job in JOBS}, None),
        ({f"unknown[{job}]": "3" for job in JOBS}, "GSM1504"),
        ({f"Jobs[{job}]": "3" for job in JOBS}, None),
    ],
)
def test_errors_are_those_of_single_settings(
    model: gs.Model, monkeypatch: pytest.MonkeyPatch, more: dict[str, str], code: str | None
) -> None:
    settings = {f"deadline[{job}]": "2[h]" for job in JOBS} | more
    as_columns, one_by_one = both(model, settings, monkeypatch)
    assert as_columns == one_by_one
    if code is None or code.startswith("GSM"):
        assert isinstance(one_by_one, set)
        assert code is None or code in one_by_one, one_by_one


def test_the_place_is_the_row_of_the_file(gsdsl: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "m.gsm").write_text(MODEL, encoding="utf-8")
    rows = "".join(f"deadline[j{n}],{n},h\n" for n in range(7, 30))
    (tmp_path / "s.csv").write_text(f"name,value,unit\n{rows}", encoding="utf-8")
    done = gsdsl("check", tmp_path / "m.gsm")
    assert done.code == 0
    done = gsdsl("solve", tmp_path / "m.gsm", "--set-file", tmp_path / "s.csv")
    assert done.code == 1
    assert "s.csv:16:1" in done.err
    assert "deadline[j21]=21[h]" in done.err
    assert "9 " in done.err
