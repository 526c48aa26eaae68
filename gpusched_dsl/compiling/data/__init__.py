"""The data of a scenario, bound to the declarations of its model."""
