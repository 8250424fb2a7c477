"""What a reproducer gets: one release, or the reference, and a notebook for what it saw."""

import contextlib
import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

from packaging.version import Version

from reproducers.protocol import Event, Request
from reproducers.upstream import platforms
from reproducers.upstream.importing import Upstream
from reproducers.upstream.plain import plain
from reproducers.upstream.showing import shown, source_of
from reproducers.upstream.slicing import FileSlice


class Skip(Exception):  # noqa: N818  # not an error: the step does not apply here
    """Raised by `Subject.skip`: the step does not apply to this subject or machine."""


class GuardSubstitutedError(Exception):
    """A reproducer tried to replace the code that holds the guard: nothing would be shown."""


class Subject:
    """One release on one machine, as a reproducer sees it.

    Everything that a run records goes through here: values, checks, claims and named substitutes
    end up in the run's record under the names given.

    Args:
        request: what was asked.
        upstream: the release's importer; None for the reference.
        emit: takes events to be shown while the run goes on.
    """

    def __init__(
        self, request: Request, upstream: Upstream | None, emit: Callable[[Event], None]
    ) -> None:
        subject = request.subject
        self.name = subject.name
        """`sglang==0.5.18`, or `reference`."""
        self.version = Version(subject.version) if subject.version else None
        """The release's version; None for the reference."""
        self.root = Path(subject.root) if subject.root else None
        self.device = request.device
        self.seed = request.seed
        self.values: dict[str, Any] = {}
        self.checks: list[dict[str, Any]] = []
        self.claims: list[dict[str, Any]] = []
        self.substitutes: list[dict[str, Any]] = []
        self.cuts: list[str] = []
        self.wrong: tuple[Any, Any] | None = None
        self.claiming = False
        """The step is over and the page's code is executed: what is asserted now are claims."""
        self._sites = request.sites
        self._upstream = upstream
        self._emit = emit
        self._slices: dict[str, FileSlice] = {}
        self._prepared = False
        if upstream is not None:
            upstream.on_torch = self._prepare_torch

    @property
    def torch(self) -> types.ModuleType:
        """torch, seeded with the run's seed and with `torch.compile` made the identity."""
        import torch

        self._prepare_torch()
        return torch

    def _prepare_torch(self) -> None:
        if self._prepared:
            return
        self._prepared = True
        import torch

        torch.manual_seed(self.seed)
        if self._upstream is not None:
            why = "compiling drags in the compiler and changes nothing of what a check does"
            self.substitute(torch, "compile", _compile, why=why)

    def load(self, *modules: str) -> types.ModuleType:
        """Import the first of these modules that the release has, with declared stand-ins.

        Raises:
            ModuleNotFoundError: the release has none of them.
        """
        return self._release().load(*modules)

    def has(self, module: str) -> bool:
        """Whether the release has a module of this name; nothing is imported."""
        return self._release().exists(module)

    def cut(self, file: str, qualname: str, **names: Any) -> Any:
        """One function or method out of `file`, given `names`; such a run is never evidence.

        Raises:
            LookupError: it is not there, or it needs names that were not given.
        """
        root = self._release().root
        if file not in self._slices:
            self._slices[file] = FileSlice(root, file)
        self.cuts.append(f"{file}::{qualname}")
        return self._slices[file].cut(qualname, **names)

    def substitute(
        self,
        target: types.ModuleType | type | MutableMapping[str, Any] | str,
        name: str,
        new: Any,
        *,
        why: str,
    ) -> None:
        """Replace `name` in `target` by a named substitute, which is shown with its code.

        Args:
            target: a module, class or namespace of the release; or the dotted name of a
                third-party module, which then exists for the release's importers only.
            name: the attribute or key.
            new: what takes its place.
            why: one sentence for the page.

        Raises:
            GuardSubstitutedError: what would be replaced holds the entry's own guard.
        """
        if isinstance(target, str):
            self._release().provide(target, {name: self._noted(f"{target}.{name}", new, why)})
            return
        if isinstance(target, MutableMapping):
            where = str(target.get("__name__", "namespace"))
            self._refuse_guard(target.get(name))
            target[name] = self._noted(f"{where}.{name}", new, why)
            return
        where = getattr(target, "__qualname__", None) or target.__name__
        if isinstance(target, type):
            where = f"{target.__module__}.{where}"
        self._refuse_guard(inspect.getattr_static(target, name, None))
        setattr(target, name, self._noted(f"{where}.{name}", new, why))

    def in_place_of(self, name: str, new: Any, *, why: str) -> Any:
        """Declare an object of our own that is handed to the release, and give it back.

        Args:
            name: what the release has there, by its own name (`ModelRunner`).
            new: an object or a class; shown with its code, or with what it holds.
            why: one sentence for the page.
        """
        entry = {"name": name, "why": why, "code": shown(new), "ran": True}
        if entry not in self.substitutes:
            self.substitutes.append(entry)
        return new

    @contextlib.contextmanager
    def platform(self, kind: str) -> Iterator[None]:
        """Within the block the release believes in this accelerator; see `platforms.KINDS`.

        Load the modules under test first: what they compute while imported is not simulated.
        """
        source = inspect.getsource(platforms.answers)
        entry = {
            "name": f"platform {kind}",
            "why": "a simulated accelerator: what the release's probes answer",
            "code": f"# {platforms.platform_named(kind)}\n{source}",
            "ran": True,
        }
        if entry not in self.substitutes:
            self.substitutes.append(entry)
        with platforms.simulated(kind, self._release().packages):
            yield

    def value(self, name: str, value: Any) -> None:
        """Record a value that the page shows."""
        self.values[name] = plain(value)
        self._emit(Event(event="value", text=name, data={"value": self.values[name]}))

    def check(
        self,
        id: str,  # noqa: A002  # the word of the record
        ok: Any,
        *,
        got: Any = None,
        expected: Any = None,
        text: str = "",
    ) -> None:
        """Record one assertion about the result; a false one fails the fix.

        While the page's code is executed it says nothing of the step's result: it is then recorded
        as a claim.

        Args:
            id: stable name, referred to by an entry's corrections; unique within a run.
            ok: whether it holds.
            got: what was found.
            expected: what had to be found.
            text: the assertion in words; the id if not given.

        Raises:
            ValueError: the id was used before in this run.
        """
        if any(c["id"] == id for c in (*self.checks, *self.claims)):
            raise ValueError(f"the check {id!r} was recorded before in this run")
        if self.claiming:
            self.claim("Corrections", text or id, expected, got, ok, id=id)
            return
        record = {
            "id": id,
            "text": text or id,
            "ok": bool(ok),
            "got": plain(got),
            "expected": plain(expected),
        }
        self.checks.append(record)
        self._emit(Event(event="check", text=text or id, data=record))

    def claim(
        self,
        section: str,
        input: Any,  # noqa: A002  # same
        expected: Any,
        got: Any,
        ok: Any,
        *,
        id: str = "",  # noqa: A002  # same
    ) -> None:
        """Record what executing a curated snippet showed.

        Args:
            section: heading of the entry file whose code was executed.
            input: what it was given.
            expected: what the page says happens.
            got: what happened.
            ok: whether they agree.
            id: stable name, referred to by corrections; made from the section if not given.
        """
        number = sum(c["section"] == section for c in self.claims) + 1
        self.claims.append(
            {
                "id": id or f"{section.lower().replace(' ', '-')}-{number}",
                "section": section,
                "input": plain(input),
                "expected": plain(expected),
                "got": plain(got),
                "ok": bool(ok),
            }
        )

    def wrong_result(self, *, expected: Any, got: Any) -> None:
        """Record that a call returned a wrong result (the trigger of a silent error)."""
        self.wrong = (plain(expected), plain(got))

    def skip(self, reason: str) -> None:
        """End the step as not applicable here, with the reason in one sentence.

        Raises:
            Skip: always.
        """
        raise Skip(reason)

    def _release(self) -> Upstream:
        if self._upstream is None:
            raise Skip("the reference has no release to load code from")
        return self._upstream

    def _noted(self, name: str, new: Any, why: str) -> Any:
        """Write the substitute down with its code; a function also notes that it ran."""
        code = source_of(new) or f"{name.rpartition('.')[2]} = {plain(new)!r}"
        entry = {"name": name, "why": why, "code": code, "ran": False}
        self.substitutes.append(entry)
        if not inspect.isfunction(new):
            return new

        def substitute(*args: Any, **kwargs: Any) -> Any:
            entry["ran"] = True
            return new(*args, **kwargs)

        substitute.__wrapped__ = new  # type: ignore[attr-defined]  # what inspect.signature follows
        substitute.__name__, substitute.__doc__ = new.__name__, new.__doc__
        return substitute

    def _refuse_guard(self, old: Any) -> None:
        """Nothing that holds the guard may be replaced: it is what is to be shown."""
        if self.root is None or old is None:
            return
        inner = inspect.unwrap(getattr(old, "__func__", old))
        try:
            file = str(Path(inspect.getfile(inner)).relative_to(self.root))
        except (TypeError, ValueError, OSError):
            return
        qualname = getattr(inner, "__qualname__", "").replace(".<locals>", "")
        for site in self._sites:
            function = str(site.get("function", ""))
            if site.get("file") == file and (
                inspect.ismodule(inner) or f"{function}.".startswith(f"{qualname}.")
            ):
                raise GuardSubstitutedError(
                    f"{qualname or file} holds the entry's own guard and cannot be replaced"
                )


def _compile(model: Any = None, **_options: Any) -> Any:
    return model if model is not None else lambda function: function


def load_reproducer(slug: str, file: str | None = None) -> types.ModuleType:
    """The hand-written reproducer of an entry.

    Args:
        slug: its module in `reproducers.errors` is named for it.
        file: a reproducer that is not in the tree (yet).

    Raises:
        ModuleNotFoundError: the entry has none.
    """
    name = f"reproducers.errors.{slug.replace('-', '_')}"
    if file is None:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"{file} is not a Python file", name=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
