"""Profiles of jobs on GPU models: what was measured, what can be learnt from it, and what is missing predicted."""
