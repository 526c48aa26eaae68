"""Fonts for characters that the font of figures lacks, such as Chinese ones: those that are installed."""

from __future__ import annotations

from functools import cache
from typing import Final

# By script; of each list the first installed one is used. Coloured fonts are left out: Matplotlib cannot draw them.
FALLBACKS: Final = (
    (
        "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK TC", "Noto Sans CJK KR", "Noto Sans SC",
        "Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "Microsoft YaHei",
        "SimHei", "PingFang SC", "Hiragino Sans GB", "Arial Unicode MS",
    ),
    ("Noto Sans CJK JP", "Noto Sans JP", "Yu Gothic", "Hiragino Sans", "IPAGothic", "TakaoGothic", "MS Gothic"),
    ("Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic", "Apple SD Gothic Neo", "NanumGothic", "UnDotum"),
    ("Noto Emoji", "Symbola", "Segoe UI Symbol", "Segoe UI Emoji", "Apple Symbols"),
    ("Unifont", "GNU Unifont"),
)  # fmt: skip


@cache
def font_families() -> tuple[str, ...]:
    """Return the families of figures: the usual one, then those for its missing characters."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    found = (next((family for family in families if family in installed), None) for families in FALLBACKS)
    return ("sans-serif", *dict.fromkeys(family for family in found if family is not None))
