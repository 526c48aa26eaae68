"""Profiles of jobs on GPU models: measurements, learning, and predictions of missing values."""
