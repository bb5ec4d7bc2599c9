"""What `dev new` starts from: a whole kata in small, linted and typed like the rest."""
