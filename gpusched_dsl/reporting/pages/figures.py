"""The charts of a page as separate SVG files: with title and legend inside, and colours for white paper."""

from __future__ import annotations

import re
from html import escape, unescape

_FIGURE = re.compile(r"<figure\b.*?</figure>", re.DOTALL)
_CAPTION = re.compile(r"<figcaption\b[^>]*>(.*?)</figcaption>", re.DOTALL)
_KEY = re.compile(r'<span class="key"><i class="(\w+)-dot"></i>(.*?)</span>', re.DOTALL)
_ANY_KEY = re.compile(r'<span class="key">.*?</span>', re.DOTALL)  # also of colours of areas
_CHART_RULE = re.compile(
    r"\s*(svg text|\.grid|\.line|\.blue|\.orange|\.green|\.purple|\.red|\.grey|\.[a-z]+\d|rect|text|\.zero|\.price)"
)
_ANY_KEY = re.compile(r'<span class="key">.*?</span>', re.DOTALL)
_SVG = re.compile(r'<svg\b[^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>(.*?)</svg>', re.DOTALL)
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_VARIABLE = re.compile(r"--(\w+):\s*([^;}]+?)\s*[;}]")
_HEAD = 34  # pixels for title and legend
_KEY_WIDTH = 7  # pixels of a letter of the legend, about


def figures(page: str) -> dict[str, str]:
    """Return the charts of a page by file name, such as `cost-1.svg`, each as a complete SVG document."""
    style = _style(page)
    found: dict[str, str] = {}
    for figure in _FIGURE.findall(page):
        drawing, caption = _SVG.search(figure), _CAPTION.search(figure)
        if drawing is None:
            continue
        inside = "" if caption is None else caption[1]
        title = _text(_ANY_KEY.sub("", inside)) or "figure"
        name = re.sub(r"[^a-z0-9]+", "-", title.split(":")[0].split("(")[0].lower()).strip("-")[:40] or "figure"
        number = 1 + sum(other.rpartition("-")[0] == name for other in found)
        found[f"{name}-{number}.svg"] = _document(drawing, title, _KEY.findall(inside), style)
    return found


def _document(drawing: re.Match[str], title: str, keys: list[tuple[str, str]], style: str) -> str:
    width, height = float(drawing[1]), float(drawing[2]) + _HEAD
    legend, x = [], 10.0
    for colour, label in keys:
        text = _text(label)
        legend.append(f'<line class="line {colour}" x1="{x:g}" x2="{x + 16:g}" y1="26" y2="26"/>')
        legend.append(f'<text x="{x + 20:g}" y="30">{escape(text)}</text>')
        x += 36 + _KEY_WIDTH * len(text)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" font-family="sans-serif" font-size="12">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            f'<rect width="{width:g}" height="{height:g}" fill="#fff" stroke="none"/>',
            f'<text x="10" y="14" font-weight="bold">{escape(title)}</text>',
            *legend,
            f'<g transform="translate(0 {_HEAD})">{drawing[3]}</g>',
            "</svg>\n",
        ]
    )


def _style(page: str) -> str:
    """Return the style of the page for charts, without dark colours, and with variables replaced for other programs."""
    style = "\n".join(_STYLE.findall(page))
    light = re.sub(r"@media[^{]*\{(?:[^{}]|\{[^{}]*\})*\}", "", style)
    colours = {name: value for name, value in _VARIABLE.findall(light) if value.startswith("#")}
    light = re.sub(r"var\(--(\w+)\)", lambda found: colours.get(found[1], "#000"), light)
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", light)
    kept = (
        f"{selector.strip().replace('svg ', '')} {{ {body.strip()} }}"
        for selector, body in rules
        if _CHART_RULE.match(selector) and "-dot" not in selector
    )
    return " ".join(kept).replace("system-ui, ", "")


def _text(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", "", markup)).split())
