"""The data of a run, and how it changes."""
