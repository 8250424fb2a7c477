"""A launch line through the release's own parser, resolution and checks, on a simulated GPU.

Nothing of a check is written down here: the release's code decides, and what it raises is the
finding. Corrections are guessed from the message, the source around the raise and the parser, and
each is tried on the same code before it is proposed.
"""
