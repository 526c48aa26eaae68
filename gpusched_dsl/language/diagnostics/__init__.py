"""Diagnostics: codes, places, help, and how they are shown."""
