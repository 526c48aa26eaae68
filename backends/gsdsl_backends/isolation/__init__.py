"""Backends in processes of their own."""
