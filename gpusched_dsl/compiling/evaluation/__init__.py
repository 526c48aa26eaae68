"""Values of checked expressions over complete index domains."""
