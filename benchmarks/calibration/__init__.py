"""How often estimates of the start hold, on a real trace."""
