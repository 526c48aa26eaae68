"""Kubernetes: through Kueue's admission checks, or as a second scheduler that binds pods."""
