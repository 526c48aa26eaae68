"""Random convex programs as text: sums of terms that are convex together, over x in [-3, 3] and y in [0.1, 4]."""

from __future__ import annotations

import random

X, Y = ("x1", "x2"), ("y1", "y2")
KINDS = (
    "quadratic", "squares", "crossed", "norm", "root", "entropy", "entropy of a sum", "relative entropy", "capacity",
    "exponential", "quotient", "quotient of a form", "delay", "delay of a sum", "log of exponentials",
)  # fmt: skip


def _number(r: random.Random, low: float, high: float) -> float:
    return round(r.uniform(low, high), 3)


def _affine(r: random.Random, names: tuple[str, ...], positive: bool = False) -> str:
    chosen = r.sample(names, r.randint(1, len(names)))
    low = 0.2 if positive else -2.0
    parts = [f"({_number(r, low, 2)})*{name}" for name in chosen]
    return " + ".join([*parts, f"({_number(r, low, 2)})"])


def term(r: random.Random, kind: str) -> str:
    """A term that is convex within the bounds."""
    c, (a, b), y = _number(r, 0.2, 2), r.sample(X, 2), r.choice(Y)
    match kind:
        case "quadratic":
            p, q, s = _number(r, 0.3, 2), _number(r, -1, 1), _number(r, 0, 1)
            return f"({p * p:.6f}*{a}^2 + ({2 * p * q:.6f})*{a}*{b} + ({q * q + s:.6f})*{b}^2)"
        case "squares":
            one = _affine(r, X)
            return f"(({one})*({one}) + ({_affine(r, X)})^2)"
        case "crossed":
            return f"(({a} - {b})^2 + 0.5*({a} + {b})*({a} + {b}) + {a}*{b})"
        case "norm":
            return f"{c}*sqrt(({_affine(r, X)})^2 + ({_affine(r, X)})^2 + {_number(r, 0.1, 1)})"
        case "root":
            return f"{c}*sqrt(2*{a}^2 + 2*{a}*{b} + 3*{b}^2 - {a} + 4)"
        case "entropy":
            return f"{c}*{y}*log({y})"
        case "entropy of a sum":
            one = _affine(r, Y, positive=True)
            return f"{c}*({one})*log({one})"
        case "relative entropy":
            return f"{c}*{Y[0]}*log({Y[0]}/(2*{Y[1]} + 1))"
        case "capacity":
            return f"-({c}*{Y[0]}*log(1 + {Y[1]}/{Y[0]}))"
        case "exponential":
            return f"{c}*{y}*exp(({_affine(r, X)})/(4*{y}))"
        case "quotient":
            return f"{c}*({_affine(r, X)})^2/({y} + 0.1)"
        case "quotient of a form":
            return f"({a}^2 + {a}*{b} + {b}^2)/{y}"
        case "delay":
            return f"{c}*{y}/({_number(r, 4.2, 6)} - {y})"
        case "delay of a sum":
            return f"{c}*({Y[0]} + {Y[1]})/({_number(r, 8.3, 10)} - ({Y[0]} + {Y[1]}))"
        case _:
            return f"{c}*log(exp({_affine(r, X)}) + 2*exp({_affine(r, X)}) + 1)"


def program(seed: int) -> str:
    """A minimisation, or the maximisation of the opposite, with a row in most."""
    r = random.Random(seed)
    kinds = [KINDS[seed % len(KINDS)], r.choice(KINDS)]
    linear = " + ".join(f"({_number(r, -2, 2)})*{name}" for name in (*X, *Y))
    body = " + ".join([linear, *(term(r, kind) for kind in kinds)])
    objective = f"maximize f: -({body});" if r.random() < 0.3 else f"minimize f: {body};"
    side = f"{_number(r, 2, 6)} + {_number(r, 0, 1)}*{r.choice(X)}"
    rows = f"constraint row: {term(r, r.choice(KINDS))} <= {side};" if r.random() < 0.7 else ""
    variables = "".join(f"var {x} >= -3 <= 3; " for x in X) + "".join(f"var {y} >= 0.1 <= 4; " for y in Y)
    return f"model M {{ {variables} {objective} {rows} }} scenario S for M {{ }}"
