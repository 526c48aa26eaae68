"""What would start a waiting job earlier, and its effect on the others."""
