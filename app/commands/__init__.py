"""One module a command: `add_arguments(parser)` and `run(args) -> exit code`.

A module here imports only what its parser needs; the work is imported inside `run`.
"""
