"""Solver backends, one folder per solver, behind the protocol of `protocol.py`. Importing this imports no solver."""

if __name__ == "backends":
    raise ImportError("this folder is the package gpusched_dsl.backends; import it by that name")
