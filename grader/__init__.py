"""Grade hand-written Transformer parts by what they do, and name the bug."""

__version__ = "0.1.0"
