"""Ten nodes and twenty jobs that share GPUs: proved optimal in two compact forms, and built as printed."""
