"""Run cases, compare outcomes, judge checks and name bugs."""
