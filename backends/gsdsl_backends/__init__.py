"""Solver backends, one folder per solver, behind the protocol of `protocol.py`. Importing this imports no solver."""
