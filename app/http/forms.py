"""Forms of pages: fields and one file, with their limits and our own words for what is wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from app.exceptions import BadInputError, TooLargeError
from app.http.bodies import DIGITS, too_large
from app.http.faults import check_names

_MOST_FIELDS = 20
_FRAME = 1 << 20
"""Bytes of everything beside the largest field: other fields, names, boundaries, types."""


@asynccontextmanager
async def read_form(
    request: Request, *names: str, most: int, advice: str
) -> AsyncIterator[FormData]:
    """The form of a request.

    Args:
        request: whose body.
        names: the fields there may be.
        most: bytes of one field.
        advice: what to do with a field that is longer.

    Raises:
        TooLargeError: a field is over the limit, or all of them are over little more than that;
            nothing beyond it is kept, on the disk neither.
        BadInputError: the body is no form, or has fields that mean nothing.
    """
    whole = most + _FRAME
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > DIGITS or int(declared) > whole):
        raise too_large(whole, advice)
    counted = Request(request.scope, _counted(request.receive, whole, advice))
    try:
        form = await counted.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=most)
    except HTTPException as e:
        raise _fault(str(e.detail), most, advice) from e
    except ClientDisconnect:
        raise
    except (ValueError, KeyError, AttributeError) as e:  # what parsers say to half a header
        raise _fault("", most, advice) from e
    try:
        check_names(form, names)
        yield form
    finally:
        await form.close()


def _counted(receive: Receive, most: int, advice: str) -> Receive:
    """The same messages, up to so many bytes of body."""
    arrived = 0

    async def counted() -> Message:
        nonlocal arrived
        message = await receive()
        arrived += len(message.get("body", b""))
        if arrived > most:
            raise too_large(most, advice)
        return message

    return counted


def text_field(form: FormData, name: str) -> str:
    """A field's text, empty where there is none."""
    value = form.get(name)
    return value if isinstance(value, str) else ""


def file_field(form: FormData, name: str) -> UploadFile | None:
    """A field's file, None where none was chosen."""
    value = form.get(name)
    return value if isinstance(value, UploadFile) and value.filename else None


def _fault(said: str, most: int, advice: str) -> BadInputError:
    if "exceeded maximum size" in said:
        size = f"{most >> 20} MB" if most >= 1 << 20 else f"{most >> 10} KB"
        return TooLargeError(f"A field of the form is larger than {size}. {advice}")
    if "Too many" in said:
        return BadInputError(
            f"The form has too many parts: one file and {_MOST_FIELDS} fields are the most."
        )
    return BadInputError("The form cannot be read: its parts are not whole. Send it again.")
