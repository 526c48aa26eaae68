"""Slurm: its jobs and nodes by the command line or by REST."""
