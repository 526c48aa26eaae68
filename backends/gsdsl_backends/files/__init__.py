"""LP and MPS files."""
