"""Measurements against the raw limit, in turn on the same machine. Figures are printed, never asserted."""
