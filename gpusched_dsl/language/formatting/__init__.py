"""The formatter: tokens in, the same tokens well spaced out."""
