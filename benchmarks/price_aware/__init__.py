"""The shipped day of price-aware training and inference, solved to a gap of 1 %."""
