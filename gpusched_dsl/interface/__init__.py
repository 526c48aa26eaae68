"""The parts of `Model`, the Python interface, that `api.py` puts together."""
