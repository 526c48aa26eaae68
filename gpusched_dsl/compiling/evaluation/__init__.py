"""Values of checked expressions over whole index domains."""
