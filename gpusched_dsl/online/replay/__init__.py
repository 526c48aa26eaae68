"""Whole runs in one go, for policies whose queue never changes its order."""
