"""How much power a cluster can guarantee to shed in some slots of a day, and at what cost."""
