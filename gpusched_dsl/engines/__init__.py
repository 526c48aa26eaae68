"""Engines execute tasks: local processes, Dask, Slurm."""
