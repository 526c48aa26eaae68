"""Sums over the jobs that run in a slot: four ways to write the condition, in four orders and kinds of sets."""
