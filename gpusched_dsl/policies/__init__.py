"""Scheduling policies and the exact algorithms that they stand on."""
