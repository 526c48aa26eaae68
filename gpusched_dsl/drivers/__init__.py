"""Drivers of real clusters: observations in, actions out, through the live loop."""
