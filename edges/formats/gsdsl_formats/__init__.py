"""Readers of published traces and prices, and generators of instances; the core finds them by entry points."""
