"""The values of scenarios and settings for the sets and parameters of a model."""
