"""Rows of a model that do not follow from the roles of its placement, for policies that ask them."""
