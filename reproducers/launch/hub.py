"""A model hub that holds the given config.json files and nothing else.

The declared substitute for huggingface_hub. Nothing is downloaded. A file that was not given is
reported as absent, in the hub's own exceptions.
"""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from reproducers.launch.config_reader import NAME, STORE


class HfHubHTTPError(OSError):
    """The hub's own error."""


class RepositoryNotFoundError(HfHubHTTPError):
    """The hub has no such repository."""


class GatedRepoError(RepositoryNotFoundError):
    """The repository asks for permission."""


class RevisionNotFoundError(HfHubHTTPError):
    """The repository has no such revision."""


class EntryNotFoundError(HfHubHTTPError):
    """The repository has no such file."""


class RemoteEntryNotFoundError(EntryNotFoundError):
    """The repository on the hub has no such file."""


class LocalTokenNotFoundError(OSError):
    """There is no token, and none is needed."""


class LocalEntryNotFoundError(EntryNotFoundError, FileNotFoundError, ValueError):
    """The local cache has no such file."""


class OfflineModeIsEnabled(ConnectionError):  # noqa: N818  # the hub's own name
    """The hub must not be asked."""


class HFValidationError(ValueError):
    """Not the name of a repository."""


class RequestException(OSError):  # noqa: N818  # requests' own name
    """A request over the network failed; none is ever made."""


def _given(repo_id: Any) -> bool:
    return str(repo_id) in STORE.texts


def _write(repo_id: Any) -> Path:
    folder = Path("hub", *[p for p in str(repo_id).split("/") if p not in ("", ".", "..")])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text(STORE.texts[str(repo_id)])
    return folder.resolve()


def hf_hub_download(repo_id: Any = "", filename: str = "", **_kwargs: Any) -> str:
    """Path of a file of a repository.

    Raises:
        LocalEntryNotFoundError: it is not config.json, or none was given.
    """
    if filename == NAME and _given(repo_id):
        return str(_write(repo_id) / NAME)
    raise LocalEntryNotFoundError(f"{filename} of {repo_id} was not given")


def snapshot_download(repo_id: Any = "", **_kwargs: Any) -> str:
    """Folder of a repository.

    Raises:
        LocalEntryNotFoundError: no config.json was given for it.
    """
    if _given(repo_id):
        return str(_write(repo_id))
    raise LocalEntryNotFoundError(f"{repo_id} was not given")


def is_offline_mode() -> bool:
    """The hub may be asked: it answers from what was given."""
    return False


def try_to_load_from_cache(*_args: Any, **_kwargs: Any) -> None:
    """Nothing is cached."""


class HfApi:
    """What a launch asks the hub."""

    def __init__(self, **_kwargs: Any) -> None:
        pass

    def file_exists(self, repo_id: Any, filename: str, **_kwargs: Any) -> bool:
        """Whether the repository has this file."""
        return filename == NAME and _given(repo_id)

    def list_repo_files(self, repo_id: Any, **_kwargs: Any) -> list[str]:
        """Names of its files.

        Raises:
            RepositoryNotFoundError: nothing was given for it.
        """
        if not _given(repo_id):
            raise RepositoryNotFoundError(f"{repo_id} was not given")
        return [NAME]

    def repo_info(self, repo_id: Any, **_kwargs: Any) -> SimpleNamespace:
        """The repository's files, and nothing else that is known of it.

        Raises:
            RepositoryNotFoundError: nothing was given for it.
        """
        files = [SimpleNamespace(rfilename=f) for f in self.list_repo_files(repo_id)]
        return SimpleNamespace(siblings=files, library_name=None, tags=[], sha=None)

    model_info = repo_info


class HfFileSystem:
    """The hub as a file system: only config.json files."""

    def __init__(self, **_kwargs: Any) -> None:
        pass

    def ls(self, path: str, **_kwargs: Any) -> list[str]:
        """Files of a repository."""
        return [f"{path}/{NAME}"] if _given(path) else []

    def glob(self, *_args: Any, **_kwargs: Any) -> list[str]:
        """No file matches."""
        return []

    def exists(self, path: str, **_kwargs: Any) -> bool:
        """Whether it is a given config.json."""
        return path.endswith("/" + NAME) and _given(path.removesuffix("/" + NAME))


class _Logging:
    """The hub's own logging: as quiet as it was asked to be."""

    @staticmethod
    def get_logger(name: str | None = None) -> logging.Logger:
        """A logger of the standard library."""
        return logging.getLogger(name)

    @staticmethod
    def set_verbosity_error() -> None:
        """Nothing is logged here anyway."""

    set_verbosity_warning = set_verbosity_info = set_verbosity_error
    enable_propagation = disable_propagation = set_verbosity_error


_ERRORS: Final = {
    e.__name__: e
    for e in (
        HfHubHTTPError,
        RepositoryNotFoundError,
        GatedRepoError,
        RevisionNotFoundError,
        EntryNotFoundError,
        RemoteEntryNotFoundError,
        LocalEntryNotFoundError,
        LocalTokenNotFoundError,
        OfflineModeIsEnabled,
        HFValidationError,
    )
}
_FUNCTIONS: Final = {
    "HfApi": HfApi,
    "HfFileSystem": HfFileSystem,
    "hf_hub_download": hf_hub_download,
    "snapshot_download": snapshot_download,
    "try_to_load_from_cache": try_to_load_from_cache,
    "is_offline_mode": is_offline_mode,
}
_CACHE: Final = "hub/cache"
_CONSTANTS: Final = {
    "HF_HUB_OFFLINE": False,
    "HF_HUB_ENABLE_HF_TRANSFER": False,
    "REPO_ID_SEPARATOR": "--",
    "REPO_TYPE_MODEL": "model",
    "HF_HUB_CACHE": _CACHE,
    "HUGGINGFACE_HUB_CACHE": _CACHE,
}
CONTENTS: Final[dict[str, dict[str, Any]]] = {
    "huggingface_hub": {**_FUNCTIONS, "__version__": "1.0.0"},
    "huggingface_hub.errors": _ERRORS,
    "huggingface_hub.utils": {**_ERRORS, "logging": _Logging},
    "huggingface_hub.constants": _CONSTANTS,
    "requests.exceptions": {
        "RequestException": RequestException,
        "ConnectionError": RequestException,
        "HTTPError": RequestException,
        "Timeout": RequestException,
    },
}
"""What importers of the engine get for each module of huggingface_hub, and of its transport."""
