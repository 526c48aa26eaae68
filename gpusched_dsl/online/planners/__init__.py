"""Planners: policies and solvers."""
