"""Two katas that are none."""
