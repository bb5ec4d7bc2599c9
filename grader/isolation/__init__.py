"""The border between the command line and the process that runs answers.

The parent never imports torch and never runs an answer; the child does both,
and nothing it says is trusted further than its shape.
"""
