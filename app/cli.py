"""`reprobase`: one table of commands; each lives in `app.commands` and is imported when called.

Exit codes everywhere: 0 clean or done · 1 something was found or a check failed · 2 wrong usage or
bad input · 3 cannot tell. Results go to standard output, progress and errors to standard error.
"""

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from app.exceptions import NotFoundError, ReprobaseError

COMMANDS: Final = {
    "serve": "the site, on http://127.0.0.1:8000",
    "scan": "add releases to the catalog",
    "releases": "what is scanned",
    "search": "find entries by words or by a message",
    "show": "one entry",
    "diagnose": "what went wrong in this log",
    "preflight": "would this launch line be refused, by the release's own checks",
    "run": "raise an error with the engine's real code, and show the fix passing",
    "synthesize": "find triggers and fixes, and execute them on the release",
    "verify": "run all reproducers and write data/evidence/",
    "export": "the catalog as JSON, NDJSON or SARIF",
    "mcp": "the read-only tools for language models, on standard input and output",
    "load": "rebuild the database from data/ and the scanned wheels",
}
BROKEN_PIPE: Final = 141
INTERRUPTED: Final = 130


class _Parser(argparse.ArgumentParser):
    """Says what was meant when an option is misspelt."""

    def error(self, message: str) -> NoReturn:
        import difflib

        options = [o for a in self._actions for o in a.option_strings]
        wrong = [w.rstrip(":,") for w in message.split() if w.startswith("--")]
        near = [n for w in wrong for n in difflib.get_close_matches(w.split("=")[0], options, 1)]
        hint = f" Did you mean {near[0]}?" if near and near[0] not in wrong else ""
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice is not None:
            known = re.findall(r"[^', ]+", choice[2])
            meant = difflib.get_close_matches(choice[1], known, 1)
            hint = f" Did you mean {meant[0]}?" if meant else ""
        self.exit(2, f"{self.prog}: {message}.{hint} See `{self.prog} --help`.\n")


def _usage() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    return (
        "usage: reprobase COMMAND [options]\n\n"
        "Errors of LLM serving engines: what they mean, and the run that proves it.\n\n"
        f"{rows}\n\n`reprobase COMMAND --help` tells more.\n"
        "Exit codes: 0 clean, 1 found or failed, 2 wrong usage, 3 cannot tell.\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_usage(), end="")
        return 0 if arguments else 2
    name = arguments[0]
    if name in ("-V", "--version"):
        from importlib.metadata import version

        print(f"reprobase {version('reprobase')}")
        return 0
    if name not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        print(f"reprobase: there is no command {name!r}.{hint}\n\n{_usage()}", file=sys.stderr)
        return 2
    return _run(name, arguments[1:], is_program=argv is None)


def _run(name: str, arguments: list[str], *, is_program: bool) -> int:
    command = importlib.import_module(f"app.commands.{name}")
    parser = _Parser(prog=f"reprobase {name}", description=COMMANDS[name].capitalize() + ".")
    command.add_arguments(parser)
    try:
        args = parser.parse_args(arguments)
        args.is_program = is_program
        code = command.run(args)
        sys.stdout.flush()
        return int(code)
    except ReprobaseError as e:
        near = f" Near: {', '.join(e.near)}." if isinstance(e, NotFoundError) and e.near else ""
        hint = "" if near and all(n in str(e) for n in getattr(e, "near", ())) else near
        print(f"reprobase {name}: {e}{hint}", file=sys.stderr)
        return e.exit_code
    except KeyboardInterrupt:
        print(f"reprobase {name}: stopped.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


if __name__ == "__main__":
    sys.exit(main())
