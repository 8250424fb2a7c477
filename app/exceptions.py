"""Every error of our own, with the HTTP status and the exit code it ends in.

    ReprobaseError            500 · 2
    ├── BadInputError         400 · 2   what was given cannot be read
    │   ├── TooLargeError     413 · 2
    │   └── BadWheelError     422 · 2   damaged, hostile or not a wheel
    ├── NotFoundError         404 · 2   no such entry, release or run; carries near matches
    │   └── NoSuchReleaseError 404 · 2
    ├── ForbiddenError        403 · 2   running is not allowed from here
    ├── TooSlowError          408 · 2   a request's body does not arrive
    ├── NotThisHostError      421 · 2   the site was asked by a name that is not its own
    ├── BusyError             429 · 2   a queue or a limit is full
    │   └── TooOftenError     429 · 2   one client asks too often; says how long to wait
    ├── UnavailableError      503 · 3   the network, the database or the disk is not there
    └── CannotTellError       422 · 3   the question needs something that was not given

"Error" everywhere else in this project means an engine's error; these are ours.
"""

from collections.abc import Sequence
from typing import ClassVar


class ReprobaseError(Exception):
    """Root of our own errors: the message says what was wrong and what to do about it."""

    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 2
    title: ClassVar[str] = "Something went wrong"


class BadInputError(ReprobaseError):
    """What was given cannot be read."""

    status = 400
    title = "That cannot be read"


class TooLargeError(BadInputError):
    """The input is over its size limit."""

    status = 413
    title = "Too large"


class BadWheelError(BadInputError):
    """A wheel that is damaged, hostile or no wheel at all."""

    status = 422
    title = "Not a wheel that can be read"


class NotFoundError(ReprobaseError):
    """No such thing; `near` lists what may have been meant."""

    status = 404
    title = "Not found"

    def __init__(self, message: str, *, near: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.near = tuple(near)


class NoSuchReleaseError(NotFoundError):
    """The package index, or the catalog, has no such release."""

    title = "No such release"


class ForbiddenError(ReprobaseError):
    """Running engine code is not allowed for this request."""

    status = 403
    title = "Not allowed from here"


class BusyError(ReprobaseError):
    """A queue or a limit is full; try again later."""

    status = 429
    title = "Busy"


class TooOftenError(BusyError):
    """One client asks for too much of a kind; `retry_after` are the seconds to wait."""

    title = "Too often"

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooSlowError(ReprobaseError):
    """What a request sends does not arrive in time."""

    status = 408
    title = "Too slow"


class NotThisHostError(ReprobaseError):
    """The site was asked by a name that is not its own."""

    status = 421
    title = "Not this site's name"


class UnavailableError(ReprobaseError):
    """The network, the database or the disk is not there."""

    status = 503
    exit_code = 3
    title = "Not available right now"


class CannotTellError(ReprobaseError):
    """The question needs something that was not given."""

    status = 422
    exit_code = 3
    title = "Cannot tell"
