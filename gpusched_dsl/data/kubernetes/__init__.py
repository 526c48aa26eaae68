"""Objects of Kubernetes as JSON: their fields, quantities, and what pods request."""
