"""What scenarios and settings give for the sets and parameters of a model."""
