"""Generators of instances: each draws one table; tables of one instance agree where they share seed and options."""
