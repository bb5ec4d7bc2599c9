"""An engine that needs no torch."""
