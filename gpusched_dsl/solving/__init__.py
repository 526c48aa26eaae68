"""From a `Problem` to a verified solution in its own terms."""
