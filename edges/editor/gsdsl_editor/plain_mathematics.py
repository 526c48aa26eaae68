"""LaTeX mathematics as plain text with mathematical signs, for editors that do not typeset formulas."""

from __future__ import annotations

import re
from functools import cache

_SIGNS = {
    "sum": "∑", "prod": "∏", "bigvee": "⋁", "bigwedge": "⋀", "leq": "≤", "geq": "≥", "neq": "≠", "in": "∈",
    "notin": "∉", "cup": "∪", "cap": "∩", "setminus": "∖", "times": "×", "Rightarrow": "⇒", "Leftrightarrow": "⇔",
    "wedge": "∧", "vee": "∨", "neg": "¬", "bmod": "mod", "cdot": "·", "dots": "…", "sim": "∼", "subseteq": "⊆",
    "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "lVert": "‖", "rVert": "‖", "middle": "",
    "left": "", "right": "", "quad": " ", "min": "min", "max": "max", "exp": "exp", "log": "log", "vert": "|",
    "textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", ",": " ", " ": " ", "\\": "\n",
}  # fmt: skip
_LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ",
    "Omega": "Ω",
}  # fmt: skip
_WORDS = frozenset(("mathit", "mathrm", "mathcal", "mathbb", "text", "operatorname"))
_OPERATORS = frozenset("∑∏⋁⋀")
_TOKEN = re.compile(r"\\([A-Za-z]+\*?|.)|([{}_^&])|(\s+)|(.)", re.DOTALL)
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@cache
def plain_mathematics(latex: str) -> str:
    """Return a formula of `reporting/mathematics` as text: `∑(j ∈ Jobs) x[j, n] ≤ capacity[n]`."""
    text = _Reader(latex).group("")
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.split("\n"))
    text = "\n".join(line for line in lines if line)
    return re.sub(r"(?<=[(\[{⌊⌈]) | (?=[)\]},⌋⌉])", "", text)


class _Reader:
    """Reads LaTeX token by token."""

    def __init__(self, latex: str) -> None:
        self.tokens = [match.group() for match in _TOKEN.finditer(latex)]
        self.at = 0

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def group(self, end: str) -> str:
        """The text up to a closing token."""
        parts: list[str] = []
        while self.at < len(self.tokens) and (token := self.next()) != end:
            parts.append(self.one(token, parts))
        return "".join(parts)

    def argument(self) -> str:
        token = self.next()
        while token.isspace():
            token = self.next()
        return self.group("}") if token == "{" else self.one(token, [])

    def one(self, token: str, before: list[str]) -> str:
        """The text of one token and its arguments."""
        if token == "_":
            below = self.argument()
            return f"({below}) " if before and before[-1].strip() in _OVER else f"[{below}]"
        if token == "^":
            above = self.argument()
            small = re.fullmatch(r"-?\d+", above)
            return above.translate(_SUPERSCRIPTS) if small else f"^{_bracket(above)}"
        if token == "{":
            return self.group("}")
        if token == "&":
            return " "
        if not token.startswith("\\"):
            return token
        return self.command(token[1:])

    def command(self, name: str) -> str:
        match name.removesuffix("*"):
            case "frac":
                above, below = self.argument(), self.argument()
                return f"{_bracket(above)} / {_bracket(below)}"
            case "sqrt":
                return f"√({self.argument()})"
            case "begin" | "end":
                inner = self.argument()
                return "{ " if name == "begin" and inner == "cases" else " }" if inner == "cases" else ""
            case word if word in _WORDS:
                return self.argument()
            case letter if letter in _LETTERS:
                return _LETTERS[letter]
            case sign:
                return _SIGNS.get(sign, sign)


_OVER = _OPERATORS | {"min", "max", "all different", "SOS1", "SOS2", "no overlap", "cumulative", "arg min", "arg max"}


def _bracket(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+(\[[^][]*\])?", text.strip()) else f"({text})"
