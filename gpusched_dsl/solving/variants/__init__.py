"""What if: variants of a problem, one solver with one clock for all of them, and what is asked of them."""
