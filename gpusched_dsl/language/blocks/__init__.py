"""Checks of the blocks around models and scenarios: tests, policies, online blocks."""
