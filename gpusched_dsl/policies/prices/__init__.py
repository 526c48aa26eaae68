"""Prices of constraints: dual values of the linear relaxation, and the bound that they prove."""
