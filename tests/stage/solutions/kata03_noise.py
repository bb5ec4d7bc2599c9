"""kata3 · Noise."""


def answer() -> int:
    """Return the answer."""
    wrong: list[str] = []
    # Step 1: be loud
    # enough
    wrong += []  # nothing is wrong
    # Step 2: be long
    wrong.extend([])
    # Step 3: be both
    assert not wrong, f"bugs {' '.join(wrong)}"
    return 42
