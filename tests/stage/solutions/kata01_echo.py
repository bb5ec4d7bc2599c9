"""kata1 · Echo."""


def answer() -> int:
    """Return the answer."""
    # Step 1: return it
    return 42
