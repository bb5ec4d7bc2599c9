"""What makes practice stick: history, hints, debug rounds, interviews, when to repeat."""
