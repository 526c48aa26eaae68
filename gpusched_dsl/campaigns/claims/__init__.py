"""Published claims beside campaigns: as data, and with verdicts computed from results."""
