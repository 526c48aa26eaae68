"""Figures of results as data: pages draw them in the browser, `drawing/` as PNG and SVG files."""
