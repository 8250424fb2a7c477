"""Calls that several reproducers make alike: on a release's own code, or on the reference.

Each module offers one of the engine's functions or objects for a subject, with the substitutes
that it needs declared. What is called is the release's own code; what differs between releases is
met here, so that a reproducer stays readable from top to bottom.
"""
