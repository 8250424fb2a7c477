"""Real import of an unpacked wheel on a machine without an accelerator.

The wheel's packages are imported from its folder; heavy third-party packages are replaced by inert
stand-ins, *only for importers that live in the wheel*: an `__import__` hook that looks at the
importer, and nothing in `sys.modules`, so that torch, pydantic or transformers never see one.
Probes (`find_spec`, `import_module`) from the wheel are told that a stand-in is absent.
`torch.compile` is the identity, or importing would drag the compiler in.
"""

import ast
import builtins
import functools
import importlib
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import Any

from reproducers.protocol import Request
from reproducers.upstream import stand_ins
from reproducers.upstream.bytecode import StoredLoader
from reproducers.upstream.stand_ins import HollowModule, Ledger, StandInModule


class Upstream:
    """The wheel under test, importable once `install()` was called.

    Args:
        root: folder that holds the wheel's packages (`<root>/sglang/...`).
        version: the release, answered as `__version__` of hollow packages.
        names: packages replaced by stand-ins.
        real: packages of `names` that must be the installed ones in this run.
        hollow: packages of the wheel whose `__init__` is not run.
        store: compiled modules, read only.
    """

    def __init__(
        self,
        root: Path,
        *,
        version: str = "0",
        names: Iterable[str] = stand_ins.NAMES,
        real: Iterable[str] = (),
        hollow: Sequence[str] = stand_ins.HOLLOW,
        store: Path | None = None,
    ) -> None:
        self.root = root
        self.version = version
        self.packages = frozenset(
            p.name for p in root.iterdir() if p.is_dir() and p.name.isidentifier()
        )
        self.names = set(names) - set(real) - self.packages
        self.hollow = frozenset(hollow)
        self.ledger = Ledger(self.packages)
        self.on_torch: Callable[[], object] | None = None
        """Called once, before the first import of torch by the wheel."""
        self._modules: dict[str, types.ModuleType] = {}
        self._provided: dict[str, types.ModuleType] = {}
        self._loader = type("WheelLoader", (StoredLoader,), {"store": store})
        self._real_import = builtins.__import__
        self._real_find_spec = importlib.util.find_spec
        self._real_import_module = importlib.import_module

    @classmethod
    def of(cls, request: Request, *, real: Iterable[str] = ()) -> "Upstream":
        """The release of a request.

        Args:
            request: its subject must have a root.
            real: packages that must be the installed ones instead of stand-ins.
        """
        return cls(
            Path(str(request.subject.root)),
            version=request.subject.version or "0",
            real=real,
            store=Path(request.bytecode) if request.bytecode else None,
        )

    def install(self) -> None:
        """Put the hooks in place, for the rest of the process's life."""
        sys.meta_path.insert(0, _WheelFinder(self))
        sys.path.insert(0, str(self.root))
        builtins.__import__ = self._import
        importlib.util.find_spec = self._find_spec
        importlib.import_module = self._import_module

    def exists(self, module: str) -> bool:
        """Whether the wheel has a module of this name, without importing anything."""
        path = self.root.joinpath(*module.split("."))
        return path.is_dir() or path.with_name(path.name + ".py").is_file()

    def load(self, *modules: str) -> types.ModuleType:
        """Import the first of these modules that the release has.

        Raises:
            ModuleNotFoundError: the release has none of them.
        """
        for name in modules:
            if self.exists(name):
                return self._real_import_module(name)
        raise ModuleNotFoundError(f"this release has no {' or '.join(modules)}", name=modules[0])

    def provide(self, module: str, contents: Mapping[str, Any]) -> types.ModuleType:
        """Give importers of the wheel a third-party module that holds `contents`.

        Names it does not hold are stand-ins. Parent packages are provided too.
        """
        found = self._provided.get(module)
        if found is None:
            found = self._provided[module] = StandInModule(module, self.ledger)
            parent, _, leaf = module.rpartition(".")
            if parent:
                self.provide(parent, {leaf: found})
        for name, value in contents.items():
            setattr(found, name, value)
        return found

    def _replaces(self, name: str) -> bool:
        if name in self._provided or any(p.startswith(name + ".") for p in self._provided):
            return True
        return name.partition(".")[0] in self.names

    def _module(self, name: str) -> types.ModuleType:
        found = self._provided.get(name) or self._modules.get(name)
        if found is None:
            found = self._modules[name] = StandInModule(name, self.ledger)
            parent, _, leaf = name.rpartition(".")
            if parent:
                setattr(self._module(parent), leaf, found)
        return found

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002  # the builtin's own signature
        locals: Mapping[str, object] | None = None,  # noqa: A002  # same
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        if self.on_torch is not None and name.partition(".")[0] == "torch":
            prepare, self.on_torch = self.on_torch, None
            prepare()
        if level == 0 and self._replaces(name):
            importer = (globals or {}).get("__name__")
            if self.ledger.is_engine(str(importer)):
                self._refuse_if_prepared(name)
                module = self._module(name)
                top = name.partition(".")[0]
                if top not in self._provided:
                    self.ledger.handed_out.add(top)
                if not fromlist:
                    return self._module(top)
                for leaf in fromlist:
                    if f"{name}.{leaf}" in self._provided:
                        setattr(module, leaf, self._provided[f"{name}.{leaf}"])
                return module
        return self._real_import(name, globals, locals, fromlist or (), level)

    def _refuse_if_prepared(self, name: str) -> None:
        """An optional package is absent for an import that is prepared for that.

        Raises:
            ModuleNotFoundError: it is.
        """
        if name.partition(".")[0] not in stand_ins.SOFT or name in self._provided:
            return
        frame = sys._getframe(2)  # noqa: SLF001  # the only way to see the import statement
        spans = _prepared_spans(frame.f_code.co_filename)
        if any(first <= frame.f_lineno <= last for first, last in spans):
            self.ledger.absent.add(name.partition(".")[0])
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def _asked_by_engine(self, name: str) -> bool:
        caller = sys._getframe(2).f_globals.get("__name__")  # noqa: SLF001  # the only way to see callers
        top = name.partition(".")[0]
        if top not in self.names or not self.ledger.is_engine(caller):
            return False
        self.ledger.absent.add(top)
        return True

    def _find_spec(
        self, name: str, package: str | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if self._asked_by_engine(name):
            return None
        return self._real_find_spec(name, package)

    def _import_module(self, name: str, package: str | None = None) -> types.ModuleType:
        if self._asked_by_engine(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return self._real_import_module(name, package)


@functools.cache
def _prepared_spans(file: str) -> tuple[tuple[int, int], ...]:
    """First and last lines of the `try` bodies of a file that catch a failing import."""
    caught = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
    spans = []
    for node in ast.walk(ast.parse(Path(file).read_bytes())):
        if isinstance(node, ast.Try):
            named = {
                n.id
                for h in node.handlers
                for n in ast.walk(h.type or ast.Name("Exception"))
                if isinstance(n, ast.Name)
            }
            if named & caught:
                spans.append((node.body[0].lineno, node.body[-1].end_lineno or 0))
    return tuple(spans)


class _HollowLoader(Loader):
    """Makes a package without running its `__init__`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = HollowModule(spec.name, self._upstream.ledger)
        self._upstream.ledger.hollow.add(spec.name)
        module.__path__ = list(spec.submodule_search_locations or ())
        module.__dict__["__version__"] = self._upstream.version
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is run."""


class _WheelFinder(MetaPathFinder):
    """Finds the wheel's own packages, before anything that is installed under the same name."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._finders: dict[str, importlib.machinery.FileFinder] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        upstream = self._upstream
        if not upstream.ledger.is_engine(fullname):
            return None
        if fullname in upstream.hollow:
            folder = upstream.root.joinpath(*fullname.split("."))
            if not folder.is_dir():
                return None
            spec = importlib.machinery.ModuleSpec(
                fullname, _HollowLoader(upstream), origin=str(folder), is_package=True
            )
            spec.submodule_search_locations = [str(folder)]
            return spec
        for entry in path if path is not None else [str(upstream.root)]:
            found = self._finder(entry).find_spec(fullname)
            if found is not None and (found.loader or found.submodule_search_locations):
                return found
        return None

    def _finder(self, folder: str) -> importlib.machinery.FileFinder:
        if folder not in self._finders:
            machinery = importlib.machinery
            self._finders[folder] = machinery.FileFinder(
                folder,
                (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
                (self._upstream._loader, [".py"]),  # noqa: SLF001  # two halves of one thing
            )
        return self._finders[folder]
