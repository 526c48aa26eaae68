"""Policies for any model with a placement."""
