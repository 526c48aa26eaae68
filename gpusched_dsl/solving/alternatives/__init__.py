"""Other solutions that are nearly as good, and the options of one job."""
