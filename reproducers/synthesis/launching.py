"""From inputs of a function to a launch line.

The release's own parser accepts it, its checks refuse it at the very line of the site, and the
corrected line passes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from reproducers.launch.fresh import fresh
from reproducers.launch.once import Line, check_once
from reproducers.launch.options import Option, Options, options_of
from reproducers.launch.release import Release
from reproducers.protocol import GPUS
from reproducers.synthesis.remedies import remedies
from reproducers.synthesis.specs import Thing, from_json

MODEL: Final = "my-model"
PROGRAM: Final = "python -m sglang.launch_server"
SECONDS: Final = 30.0
_MOST_MENDED: Final = 5
_ARCHITECTURES: Final = "architectures"
_UNKNOWN: Final = object()

Place = tuple[str, int]


@dataclass(slots=True)
class Wish:
    """What a line has to say."""

    fields: dict[str, Any] = field(default_factory=dict)
    """Values of `ServerArgs` by field."""
    gpu: str = "h100"
    env: dict[str, str] = field(default_factory=dict)
    config: str = ""
    """Text of the model's config.json."""

    def changed(self, changes: Mapping[str, Any]) -> "Wish":
        """The wish with changed inputs; what is no option is left as it is."""
        new = Wish(dict(self.fields), self.gpu, dict(self.env), self.config)
        for path, value in changes.items():
            if isinstance(value, Thing):
                continue  # an object of the release's own: resolution makes it
            if path.startswith("server_args."):
                new.fields[path.removeprefix("server_args.")] = value
            elif path == "platform" and value in GPUS:
                new.gpu = value
            elif path.startswith("env:"):
                if value is None:
                    new.env.pop(path[4:], None)
                else:
                    new.env[path[4:]] = str(value)
        return new


class Launching:
    """Confirms triggers of argument checks by launch lines.

    Args:
        release: loaded for an H100.
        found: results of argument checks, with `file`, `line`, `trigger` and `fix`.
        configs: config.json texts by name, the usual one first.
    """

    def __init__(
        self, release: Release, found: Sequence[Mapping[str, Any]], configs: Mapping[str, str]
    ) -> None:
        self._release = release
        self._options: Options = options_of(release, "launch_server")
        self._configs = configs
        self._fixes: dict[Place, dict[str, Any]] = {}
        for result in found:
            if result.get("fix"):
                changes = {p: from_json(v) for p, v in result["fix"]["changes"].items()}
                self._fixes[str(result["file"]), int(result["line"])] = changes
        self.checks = 0

    def confirm(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Look for a line and its corrected twin; says how far it came if there is none."""
        values = {p: from_json(v) for p, v in result["trigger"]["values"].items()}
        place = (str(result["file"]), int(result["line"]))
        changes = {p: from_json(v) for p, v in (result.get("fix") or {}).get("changes", {}).items()}
        why = "no line of it"
        for wish in self._wishes(values):
            line = self._line(wish)
            if line is None:
                return {"confirmed": False, "why": "an input is no option"}
            wanted = str(result["trigger"]["errorClass"])
            hit, reached, outcome = self._reach(wish, place, set(values), wanted)
            why = f"{outcome.get('state')} at {(outcome.get('site') or {}).get('file')}:{(outcome.get('site') or {}).get('line')}: {outcome.get('message', '')[:120]}"  # noqa: E501  # fmt: skip
            if not hit:
                continue
            named = remedies(str(outcome.get("message", "")), self._options, reached.fields)
            fixed = self._corrected(reached, place, [changes, *named])
            if fixed is None:
                why = "reached, and no corrected line passes"
                continue
            given, used = fixed
            return {
                "confirmed": True,
                "trigger": self.text(reached),
                "fix": self.text(given),
                "changes": used,
                "gpu": reached.gpu,
                "config": reached.config != next(iter(self._configs.values())),
                "message": outcome["message"],
                "errorClass": outcome["error_class"],
                "frames": outcome["frames"],
            }
        return {"confirmed": False, "why": why}

    def _wishes(self, values: Mapping[str, Any]) -> Iterator[Wish]:
        base = Wish(config=next(iter(self._configs.values()))).changed(values)
        wanted = next(
            (v for p, v in values.items() if _ARCHITECTURES in p and isinstance(v, str)), ""
        )
        if wanted:
            own = json.loads(base.config) | {"architectures": [wanted]}
            known = [t for t in self._configs.values() if wanted in t]
            yield from (replace(base, config=t) for t in [*known[:1], json.dumps(own)])
            return
        yield base
        if "platform" not in values:
            yield from (replace(base, gpu=gpu) for gpu in ("b200", "mi300x", "cpu"))
        for text in list(self._configs.values())[1:5]:
            yield replace(base, config=text)

    def _reach(
        self, wish: Wish, place: Place, fixed: set[str], error_class: str
    ) -> tuple[bool, Wish, dict[str, Any]]:
        """The wish with what stands in the way of the site put right."""
        outcome: dict[str, Any] = {}
        seen: set[Place] = set()
        for _ in range(_MOST_MENDED):
            outcome = self._check(wish)
            here = _place(outcome)
            if here == place and outcome.get("error_class") == error_class:
                return True, wish, outcome
            changes = self._fixes.get(here, {}) if here is not None and here not in seen else {}
            if here is None or not changes or fixed & set(changes):
                break
            seen.add(here)
            wish = wish.changed(changes)
        return False, wish, outcome

    def _corrected(
        self, wish: Wish, place: Place, changes: Sequence[Mapping[str, Any]]
    ) -> tuple[Wish, list[str]] | None:
        """The nearest line that passes: a fix that is known or named, dropping an option."""
        tries: list[dict[str, Any]] = [dict(c) for c in changes if c]
        tries += [{f"server_args.{name}": _UNKNOWN} for name in wish.fields]
        for one in tries:
            given = wish.changed({p: v for p, v in one.items() if v is not _UNKNOWN})
            for path, value in one.items():
                if value is _UNKNOWN:
                    given.fields.pop(path.removeprefix("server_args."), None)
            if self.text(given) == self.text(wish):
                continue
            seen: set[Place] = {place}
            used = sorted(one)
            for _ in range(_MOST_MENDED):
                outcome = self._check(given)
                if outcome.get("state") == "pass":
                    return given, used
                here = _place(outcome)
                further = self._fixes.get(here, {}) if here is not None and here not in seen else {}
                if here is None or not further or set(further) & set(one):
                    break
                seen.add(here)
                used += sorted(further)
                given = given.changed(further)
        return None

    def _check(self, wish: Wish) -> dict[str, Any]:
        line = self._line(wish)
        if line is None:
            return {"state": "no option"}
        self.checks += 1
        return fresh(lambda: check_once(self._release, line), SECONDS)

    def _line(self, wish: Wish) -> Line | None:
        argv = self.argv(wish)
        if argv is None:
            return None
        model = str(wish.fields.get("model_path", MODEL))
        configs = {model: wish.config}
        for name in ("speculative_draft_model_path", "tokenizer_path"):
            if isinstance(wish.fields.get(name), str):
                configs[str(wish.fields[name])] = wish.config
        return Line(
            program="launch_server", argv=tuple(argv), env=wish.env, gpu=wish.gpu, configs=configs
        )

    def argv(self, wish: Wish) -> list[str] | None:
        """The words of a line; None if a value cannot be said by an option."""
        words = ["--model-path", str(wish.fields.get("model_path", MODEL))]
        for name, value in sorted(wish.fields.items()):
            if name == "model_path":
                continue
            option = self._options.by_dest.get(name)
            said = _said(option, value) if option is not None else None
            if said is None:
                return None
            words += said
        return words

    def text(self, wish: Wish) -> str:
        """The command as it would be typed."""
        import shlex

        env = "".join(f"{k}={shlex.quote(v)} " for k, v in sorted(wish.env.items()))
        return f"{env}{PROGRAM} {shlex.join(self.argv(wish) or [])}"


def _place(outcome: Mapping[str, Any]) -> Place | None:
    site = outcome.get("site")
    return (str(site["file"]), int(site["line"])) if site else None


def _said(option: Option, value: Any) -> list[str] | None:  # noqa: PLR0911  # one answer a kind
    """An option with its value; nothing for what is its default, None if it cannot be said."""
    if value is None or (value is False and option.is_flag):
        return []
    if option.is_flag:
        return [option.longest] if value is True else None
    if isinstance(value, bool):
        return [option.longest, str(value).lower()] if option.kind != "int" else None
    if isinstance(value, list | tuple):
        if option.nargs not in ("*", "+") and not isinstance(option.nargs, int):
            return None
        if not all(isinstance(v, str | int | float) for v in value):
            return None
        return [option.longest, *map(str, value)]
    if isinstance(value, dict):
        try:
            return [option.longest, json.dumps(value)]
        except (TypeError, ValueError):
            return None
    if isinstance(value, str | int | float):
        text = str(value)
        return [f"{option.longest}={text}"] if text.startswith("-") else [option.longest, text]
    return None
