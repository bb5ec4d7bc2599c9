"""kata3 · Noise."""


def answer() -> int:
    """Return the answer."""
    # TODO 1: return it
    raise NotImplementedError
