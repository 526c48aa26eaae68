"""Figures of results as data: pages draw them in the browser, `drawing/` as PNG and SVG files.

A figure has one description. ECharts draws it on pages, as it pans 10,000 jobs on a canvas and is one file; papers
need the files of Matplotlib.
"""
