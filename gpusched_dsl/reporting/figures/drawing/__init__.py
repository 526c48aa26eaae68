"""Figures as PNG and SVG files, drawn by Matplotlib."""
