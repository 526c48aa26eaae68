"""States of a run beside its journal, from which a reader continues instead of repeating the run from its beginning."""
