"""Names, numbers, units and texts in LaTeX mathematics."""

from __future__ import annotations

from gpusched_dsl.language import tree

GREEK = frozenset(
    [
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
        *("xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta"),
        *("Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
    ]
)
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
}  # fmt: skip


def escape(text: str) -> str:
    """Return a text with the special characters of LaTeX escaped."""
    return "".join(_SPECIAL.get(c, c) for c in text)


def symbol(name: str) -> str:
    """A parameter, variable or index: one letter as it is, Greek names as letters, words in italics."""
    if len(name) == 1:
        return escape(name)
    return f"\\{name}" if name in GREEK else rf"\mathit{{{escape(name)}}}"


def set_symbol(name: str) -> str:
    """A set: one letter in script, words upright."""
    return rf"\mathcal{{{name}}}" if len(name) == 1 and name.isupper() else rf"\mathrm{{{escape(name)}}}"


def word(text: str) -> str:
    """An element label or any other text."""
    return rf"\text{{{escape(text)}}}"


def number(value: float, is_integer: bool) -> str:
    """A number as one would write it: `10^{-6}` for powers of ten far from one."""
    if is_integer or (value == int(value) and abs(value) < 1e15):
        return str(int(value))
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    power = rf"10^{{{int(exponent)}}}"
    return power if mantissa in ("1", "1.0") else rf"{mantissa} \cdot {power}"


def unit(node: tree.UnitNode | None) -> str:
    """A unit as written, upright."""
    return "" if node is None else rf"\mathrm{{{escape(node.span.text.strip('[]'))}}}"
