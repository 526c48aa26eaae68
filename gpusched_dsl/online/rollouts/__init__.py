"""Rollouts: what plans cost in simulated futures of a run, which know nothing of the real future."""
