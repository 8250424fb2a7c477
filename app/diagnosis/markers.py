"""Fixed strings that no template has but that a diagnosis must not miss in a large log.

They are compiled into the same literal database, so that one pass over a log finds everything.
"""

from typing import Final

MARKERS: Final[dict[bytes, str]] = {
    b"Traceback (most recent call last": "traceback",
    b"During handling of the above exception": "traceback",
    b"terminate called after throwing": "native",
    b"Fatal Python error": "native",
    b"what():  ": "native",
    b": error: unrecognized arguments": "record",
    b": error: argument ": "record",
    b": error: the following arguments are required": "record",
    b"Segmentation fault": "record",
    b"(core dumped)": "record",
    b" Killed  ": "record",
    b"OOMKilled": "record",
    b"Out of memory: Killed process": "record",
    b"xit code: ": "record",
    b"exitcode": "record",
    b"exit status ": "record",
    b"exited with code ": "record",
    b"server_args=": "fact",
    b"sglang.launch_server": "fact",
    b"sglang serve": "fact",
    b"vllm serve": "fact",
    b"max_total_num_tokens=": "fact",
    b"The server is fired up": "fact",
    b"Load weight end": "fact",
    b'"object":"error"': "record",
    b"Error: ": "record",
    b"Exception: ": "record",
}
"""String → what to look at around it: a traceback, a native crash, a record, a fact."""
