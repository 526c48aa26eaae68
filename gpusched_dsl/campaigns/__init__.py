"""Campaigns: grids of runs with content keys, their store, and the engines that execute them."""
