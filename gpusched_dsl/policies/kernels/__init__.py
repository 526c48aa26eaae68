"""Compiled loops of the heuristic runtime: plain functions on arrays, each also valid Python without a compiler."""
