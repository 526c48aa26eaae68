"""Data files, databases and Python values to columns."""
