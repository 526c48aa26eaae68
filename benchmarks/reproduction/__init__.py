"""Published results of the papers beside ours: claims as data, results of campaigns, computed verdicts, a page."""
