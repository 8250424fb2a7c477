"""Triggers and fixes found by the program, executed on a release's real code.

For a raise or assert of a release, `solving` looks for inputs with which the real function raises
at that very line, and for the smallest change with which the same call returns. Nothing is cut out
of the function: every run is one of the whole function, in the module's own namespace.
"""
