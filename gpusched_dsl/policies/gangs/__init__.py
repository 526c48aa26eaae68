"""Policies for gangs: jobs whose workers run on several nodes at once."""
