"""The parts of the class `Model` of `api.py`."""
