"""Mistakes that the attention katas have in common, as patches of lines they share.

A solution that wants them writes its projections, scores, masks, softmax and
merge in the lines of `lines`; each function of the other modules returns the
bugs of one step. Of bugs that explain an answer equally well, the first is the
one named.
"""
