"""Why a job runs where it runs: counterfactuals and traces of policies."""
