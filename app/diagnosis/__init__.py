"""Text of a log in, what went wrong out: `diagnose(text) -> Diagnosis`.

Plain dataclasses and one compiled index file, nothing heavier than the standard library and the
matcher, so that the command line answers in a tenth of a second.
"""
