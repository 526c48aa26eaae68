"""Checked expressions to rows, columns and definitions of a problem."""
