"""What was found of one entry: shown as a person would write it, and run again."""

from typing import Any

from sqlmodel import Session

from app.exceptions import CannotTellError, NotFoundError
from app.models import Entry
from app.runs.found import Found, found_of_entry
from app.runs.requests import LIMITS, bytecode_dir, release_subject
from app.services.resolve import all_ids
from app.services.synthesized_record import SynthesizedPage
from app.settings import Settings
from app.wheels import fetch, parse_release
from reproducers.protocol import NOT_TRIED, SYNTHESIS_REASONS, Request, Step


def synthesized_page(db: Session, entry: Entry, settings: Settings) -> SynthesizedPage | None:
    """What was found of an entry; None if it has a reproducer and was never looked at."""
    found = found_of_entry(settings, all_ids(db, entry))
    if not found and entry.slug:
        return None
    if not found:
        words = SYNTHESIS_REASONS[NOT_TRIED]
        return SynthesizedPage(subject="", level="none", reason=NOT_TRIED, reason_text=words)
    subject, result = found[0]
    return page_of(subject, result)


def page_of(subject: str, result: Found) -> SynthesizedPage:
    """One result as it is shown."""
    reason = str(result.get("reason") or "")
    page = SynthesizedPage(
        subject=subject,
        level=str(result.get("level", "none")),
        reason=reason,
        reason_text=SYNTHESIS_REASONS.get(reason, reason),
        api_only=bool(result.get("apiOnly")),
        file=str(result["file"]),
        line=int(result["line"]),
        function=str(result["function"]),
    )
    if not result.get("trigger"):
        return page
    launch = result.get("launch") or {}
    if launch.get("confirmed"):
        page.trigger, page.fix = launch["trigger"], launch["fix"]
    else:
        page.trigger = snippet(result, fixed=False)
        page.fix = snippet(result, fixed=True) if result.get("fix") else ""
    page.assumptions = assumptions(result)
    if result.get("fix"):
        page.fix_rank = str(result["fix"]["rank"])
        page.fix_text = "; ".join(
            f"{p.removeprefix('server_args.')} = {written(v)}"
            for p, v in result["fix"]["changes"].items()
        )
    return page


def assumptions(result: Found) -> list[str]:
    """What was taken for granted, in sentences."""
    trigger = result["trigger"]
    found = [
        f"{path.removeprefix('call:')} is not called; its result is given."
        for path in trigger["replaced"]
    ]
    settled = {p: v for p, v in trigger.get("settled", {}).items() if p not in trigger["values"]}
    for path, value in list(settled.items())[:8]:
        found.append(f"{path} is {written(value)}: nothing says what it is, its use does.")
    if trigger.get("swallowed"):
        found.append("The function itself catches what is raised here.")
    if result.get("apiOnly"):
        found.append("No launch line gives such a value: only a program that calls it does.")
    return found


def snippet(result: Found, *, fixed: bool) -> str:  # noqa: C901  # read from top to bottom
    """Python that says what the call is given."""
    trigger = result["trigger"]
    values = dict(trigger["values"])
    changes = result["fix"]["changes"] if fixed and result.get("fix") else {}
    values.update(changes)
    module = str(result["file"]).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    qualname = str(result.get("qualname") or result["function"])
    params = result.get("params", {})
    lines: list[str] = []
    env = {p[4:]: v for p, v in values.items() if p.startswith("env:")}
    if env:
        lines.append("import os")
        lines += [f"os.environ[{k!r}] = {written(str(v))}" for k, v in env.items() if v is not None]
    top = qualname.split(".", maxsplit=1)[0]
    lines.append(f"from {module} import {top}")
    options = {p[12:]: v for p, v in values.items() if p.startswith("server_args.")}
    uses_args = bool(options) or "server_args" in params.values()
    if uses_args and top != "ServerArgs":
        lines.append("from sglang.srt.server_args import ServerArgs")
    lines.append("")
    if "platform" in values:
        lines.append(f"# on {written(values['platform'])}")
    if uses_args:
        given = {"model_path": "my-model", **options}
        body = ", ".join(f"{k}={written(v)}" for k, v in given.items())
        lines.append(f"server_args = ServerArgs({body})")
    known = ("env:", "server_args.", "platform")
    rest = {p: v for p, v in values.items() if not p.startswith(known)}
    arguments = []
    objects: list[str] = []
    for name, kind in params.items():
        if kind == "server_args":
            own = name in ("self", "server_args")
            arguments.append("server_args" if own else f"{name}=server_args")
        elif name in rest:
            arguments.append(f"{name}={written(rest.pop(name))}")
        elif name == "self":
            objects.append(f"self = object.__new__({top})  # what it holds is given below")
            arguments.append("self")
        elif any(p.startswith((f"{name}.", f"{name}[")) for p in rest):
            objects.append(f"{name} = SimpleNamespace()")
            arguments.append(f"{name}={name}")
    if any("SimpleNamespace" in o for o in objects):
        lines.insert(0, "from types import SimpleNamespace")
    if any("torch." in written(v) for v in values.values()):
        lines.insert(0, "import torch")
    lines += objects
    lines += [f"{p} = {written(v)}" for p, v in sorted(rest.items()) if "()" not in p]
    lines += [f"# {p} gives {written(v)}" for p, v in sorted(rest.items()) if "()" in p]
    lines.append(f"{qualname}({', '.join(arguments)})")
    return "\n".join(lines)


def written(value: Any) -> str:  # noqa: C901, PLR0911  # one answer a case
    """A stored value as Python that a person would write."""
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if not isinstance(value, dict):
        return repr(value) if not isinstance(value, str) else '"' + value.replace('"', '\\"') + '"'
    kind = value.get("$")
    if kind == "tensor":
        ones = "zeros" if value["dtype"] in ("bool", "int8", "uint8", "int16", "int32", "int64") else "randn"  # noqa: E501  # fmt: skip
        extra = f", dtype=torch.{value['dtype']}" if value["dtype"] != "float32" else ""
        extra += f', device="{value["device"]}"' if value["device"] != "cpu" else ""
        text = f"torch.{ones}({', '.join(map(str, value['shape'])) or '()'}{extra})"
        return text if value["contiguous"] else f"{text}.transpose(-1, -2)"
    if kind == "member":
        return f"torch.{value['name']}" if value["module"] == "torch" else str(value["name"])
    if kind == "thing":
        return f"{value['class'].rpartition(':')[2]}(...)" if value.get("class") else "object()"
    if kind == "absent":
        return "<no such attribute>"
    if kind == "raises":
        return f"<raises {value['class']}>"
    if kind == "dict":
        return "{" + ", ".join(f"{written(k)}: {written(v)}" for k, v in value["v"]) + "}"
    items = ", ".join(map(written, value.get("v", []))) if isinstance(value.get("v"), list) else ""
    if kind == "tuple":
        return f"({items}{',' if len(value['v']) == 1 else ''})"
    if kind in ("set", "frozenset"):
        return f"{kind}([{items}])"
    return str(value.get("v"))


def found_subject(db: Session, entry: Entry, subject: str, settings: Settings) -> str:
    """The release on which what was found is to be run; the best one if none is named.

    Raises:
        CannotTellError: nothing was found for it, or not on this release.
    """
    found = [s for s, r in found_of_entry(settings, all_ids(db, entry)) if r.get("trigger")]
    if subject and subject in found:
        return subject
    if not subject and found:
        return found[0]
    where = f" on {subject}" if subject and found else ""
    raise CannotTellError(
        f"{entry.slug or entry.id} has no reproducer, and no trigger was found for it{where}, "
        "so there is nothing to run."
    )


def again_request(
    db: Session, entry: Entry, subject: str, step: Step, settings: Settings
) -> Request:
    """The request that runs what was found once more.

    Args:
        db: the open session.
        entry: whose trigger and fix.
        subject: a release; the one on which it was found if empty.
        step: trigger or fix.
        settings: where the caches lie.

    Raises:
        NotFoundError: nothing was found for it on this release.
        BadInputError: the subject is no release.
        UnavailableError: the wheel cannot be fetched.
        BadWheelError: the wheel is damaged.
    """
    found = [
        (s, r)
        for s, r in found_of_entry(settings, all_ids(db, entry))
        if r.get("trigger") and (not subject or s == subject)
    ]
    if not found:
        where = f" on {subject}" if subject else ""
        raise NotFoundError(
            f"No trigger was found for {entry.id}{where}. `reprobase synthesize` looks for one."
        )
    name, result = found[0]
    package, version = parse_release(name)
    wheel = fetch(package, version, settings)
    place = {k: result[k] for k in ("file", "function", "line")}
    site = {**place, "kind": result["kind"]}
    return Request(
        kind="synthesized",
        subject=release_subject(wheel, settings),
        scratch="",
        step=step,
        template=result["template"],
        pattern=entry.pattern if not entry.condition else ".*",
        error_class=result["trigger"]["errorClass"],
        sites=({**place, "guardLines": result.get("guardLines", [])},),
        payload={"site": site, "result": result},
        bytecode=str(bytecode_dir(settings)),
        limits=LIMITS,
    )


__all__ = ["again_request", "synthesized_page"]
