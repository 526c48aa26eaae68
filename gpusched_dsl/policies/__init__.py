"""Scheduling policies and their exact algorithms."""
