"""Policies for decisions with slots: jobs on complete nodes together with services that must be served."""
