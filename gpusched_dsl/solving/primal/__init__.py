"""Primal heuristics: starts for solvers that lack an incumbent or have an earlier plan."""
