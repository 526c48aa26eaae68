"""How much less power a plan can draw in some slots, and what that costs, for one day and for many."""
