"""One module for each kata: its cases, checks, known bugs, hints and questions."""
