"""Policies for models whose decisions have a slot: jobs that run on whole nodes beside services that must be served."""
