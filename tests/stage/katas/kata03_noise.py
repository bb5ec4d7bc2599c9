"""kata3 · Noise."""


def answer() -> int:
    """Return the answer."""
    # TODO 1: be loud
    # enough
    # TODO 2: be long
    # TODO 3: be both
    raise NotImplementedError
