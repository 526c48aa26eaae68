"""The time of building, with aggregation and all passes, against solving the same model without aggregation."""
