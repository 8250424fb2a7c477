"""The five tools: what each takes, what it says of itself, and how it answers.

A tool is a plain function from checked arguments to a JSON object, so that every transport gives
the same answer. None of them writes anything.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from app.db import session
from app.exceptions import TooLargeError
from app.http.bodies import ADVICE, MOST_UNPACKED
from app.services.diagnosis import answer
from app.services.entries import entry_document, entry_record
from app.services.listing import MAX_LIMIT, ListQuery, list_errors
from app.services.records import EntryDocument, SummaryPage
from app.services.reproducers import find_reproducer
from app.services.resolve import resolve
from app.settings import Settings

Document = dict[str, Any]
Arguments = TypeVar("Arguments", bound=BaseModel)
_FEW = 10


class Preflight(Protocol):
    """Has a launch line checked; how, and whether at all, is the transport's to decide."""

    def __call__(self, *, line: str, release: str, gpu: str, config: str) -> Document:
        """The report on a line, see the contract's `Preflight`."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class SearchErrors(_Arguments):
    """Arguments of `search_errors`."""

    query: str = Field(
        default="", description="Words, or an error message as it was printed; empty lists all."
    )
    package: str = Field(default="", description="Only this package, for example `sglang`.")
    release: str = Field(default="", description="Only what is in `package==version`.")
    error_class: str = Field(default="", alias="class", description="Only this exception class.")
    family: str = Field(default="", description="Only this failure class, by its tag.")
    status: str = Field(
        default="",
        description="`explained`, `executed`, or what became of it in the release: `new`, `same`, "
        "`moved`, `reworded`, `classChanged`, `gone`.",
    )
    evidence: str = Field(
        default="",
        description="Only what was executed so: `written` (a reproducer), `synthesized` (found by "
        "the program), `launch` (of that, a launch line), or `none`; or the code of the reason "
        "why nothing was found, such as `not-reached`.",
    )
    limit: int = Field(default=_FEW, ge=1, le=MAX_LIMIT, description="Most rows.")
    cursor: str | None = Field(default=None, description="`next` of the answer before.")


class GetError(_Arguments):
    """Arguments of `get_error` and `get_reproducer`."""

    key: str = Field(description="Id or slug of an error; an older one of them does as well.")


class DiagnoseLog(_Arguments):
    """Arguments of `diagnose_log`."""

    log: str = Field(description="Text of the log, best from the server's start to its end.")
    command: str = Field(default="", description="The launch line, if known.")
    release: str = Field(default="", description="`package==version`, if known.")


class PreflightCommand(_Arguments):
    """Arguments of `preflight_command`."""

    command: str = Field(description="The launch line, or the manifest that holds it.")
    release: str = Field(default="", description="`sglang==VERSION`; a default one if empty.")
    gpu: str = Field(default="", description="The accelerator to simulate: `h200`, `cpu`, ...")
    config: str | dict[str, Any] = Field(
        default="", description="The model's config.json, as text or as an object."
    )


@dataclass(frozen=True, slots=True)
class Around:
    """What a tool works with."""

    settings: Settings
    preflight: Preflight


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, as clients see it and as it is called."""

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    call: Callable[[Around, Any], Document]
    output: type[BaseModel] | None = None


def search_errors(around: Around, asked: SearchErrors) -> Document:
    """The errors that fit, best first."""
    query = ListQuery(
        q=asked.query,
        package=asked.package,
        release=asked.release,
        error_class=asked.error_class,
        family=asked.family,
        status=asked.status,
        evidence=asked.evidence,
    )
    with session(around.settings) as db:
        found = list_errors(
            db, query, limit=asked.limit, cursor=asked.cursor, settings=around.settings
        )
    return _document(found)


def get_error(around: Around, asked: GetError) -> Document:
    """The whole record of one error."""
    with session(around.settings) as db:
        return _document(entry_document(db, resolve(db, asked.key).entry, around.settings))


def diagnose_log(around: Around, asked: DiagnoseLog) -> Document:
    """What went wrong in a log."""
    if len(asked.log) > MOST_UNPACKED:
        raise TooLargeError(f"The log is larger than {MOST_UNPACKED >> 20} MB. {ADVICE}")
    found = answer(asked.log, around.settings, command=asked.command, release=asked.release)
    return dict(found.to_json())


def preflight_command(around: Around, asked: PreflightCommand) -> Document:
    """Whether a launch line would be refused."""
    config = asked.config if isinstance(asked.config, str) else json.dumps(asked.config)
    return around.preflight(line=asked.command, release=asked.release, gpu=asked.gpu, config=config)


def get_reproducer(around: Around, asked: GetError) -> Document:
    """How an error is executed, and what came of it when it was."""
    with session(around.settings) as db:
        entry = resolve(db, asked.key).entry
        record = entry_record(db, entry, around.settings)
    file = find_reproducer(record.slug)
    return {
        "id": record.id,
        "slug": record.slug,
        **_document(record.reproducer),
        "file": f"reproducers/errors/{file.slug.replace('-', '_')}.py" if file else None,
        "source": file.source if file else None,
        "evidence": [_document(run) for run in record.evidence],
    }


TOOLS = (
    Tool(
        "search_errors",
        "Search errors",
        "Find errors of LLM serving engines (SGLang and others) by words or by a message as it was "
        "printed. Gives ids for get_error.",
        SearchErrors,
        search_errors,
        SummaryPage,
    ),
    Tool(
        "get_error",
        "Get one error",
        "Everything known of one error: message, guards, place in every release, what it means, "
        "fixes, and the runs that prove it.",
        GetError,
        get_error,
        EntryDocument,
    ),
    Tool(
        "diagnose_log",
        "Diagnose a log",
        "What went wrong in a server's log: the root cause told from consequences and echoes, with "
        "the values that caused it and the fix. Nothing is stored; secrets are masked.",
        DiagnoseLog,
        diagnose_log,
    ),
    Tool(
        "preflight_command",
        "Check a launch line",
        "Would this SGLang launch line be refused? Executes the release's own parser and checks "
        "in a sandbox, with the GPU simulated, and gives the corrected line.",
        PreflightCommand,
        preflight_command,
    ),
    Tool(
        "get_reproducer",
        "Get a reproducer",
        "The code that makes the engine's real code raise an error and shows the fix passing, the "
        "command that runs it, and the newest runs.",
        GetError,
        get_reproducer,
    ),
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


def _document(model: BaseModel) -> Document:
    return dict(model.model_dump(mode="json", by_alias=True))
