"""Parameters that are evaluated together: findings after edits are those of the new text, whatever was known before."""

from __future__ import annotations

import random
from pathlib import Path

from gsdsl_editor.session import EditorSession

VALUES = [
    "1",
    "(a[t-1] else 1)",
    "(b[t-1] else 2)",
    "(c[t-1] else 3)",
    "a[t]",
    "b[t]",
    "1[h] * (b[t-1] else 1)",
    "k[t]",
    "sum[s in S] b[s]",
]


def text_with(draw: random.Random, lines: dict[str, str]) -> str:
    name = draw.choice(sorted(lines))
    kind = draw.choice(["", "", " in h", " symbol", " integer"])
    limit = draw.choice(["1..4", "S", "S", "1..3 where t > 1"])
    lines[name] = f"param {name}[t in {limit}]{kind} = {' + '.join(draw.sample(VALUES, draw.randint(1, 2)))};"
    return (
        "model M {\n  set S = 1..4;\n  " + "\n  ".join(lines.values()) + "\n  var x >= a[2] + b[1];\n  minimize x;\n}\n"
    )


def found(session: EditorSession, uri: str, text: str) -> list[tuple[str, int, str]]:
    session.open(uri, text)
    return sorted((d.code, getattr(d.primary, "start", -1), d.message) for d in session.found(uri))


def test_edits_of_circles(tmp_path: Path) -> None:
    uri = (tmp_path / "m.gsm").as_uri()
    codes: set[str] = set()
    for seed in range(6):
        draw = random.Random(seed)
        lines = {name: f"param {name}[t in S] = 1;" for name in "abck"}
        session = EditorSession()
        for _ in range(40):
            text = text_with(draw, lines)
            known = found(session, uri, text)
            assert known == found(EditorSession(), uri, text), (seed, text)
            codes |= {code for code, _, _ in known}
            if draw.random() < 0.4:  # go on with a text without faults
                lines["b"], lines["c"] = "param b[t in S] = (a[t-1] else 1);", "param c[t in S] = (b[t-1] else 0);"
    assert {"GSM1407", "GSM1470"} <= codes
