"""How long building takes, aggregation and all passes, against solving the same model without aggregation."""
