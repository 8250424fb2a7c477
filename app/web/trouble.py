"""The page for what did not work: what was wrong, what was perhaps meant, what to do."""

from collections.abc import Mapping, Sequence

from starlette.responses import HTMLResponse, Response

from app.web.render import render

_TITLES = {
    400: "That cannot be read",
    403: "Not allowed from here",
    404: "Not found",
    405: "That method is not offered here",
    500: "Something went wrong",
}


def trouble_page(
    status: int,
    title: str | None,
    said: str,
    near: Sequence[str],
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The HTML answer to a request that failed."""
    html = render(
        "trouble.html", status=status, title=title or _TITLES.get(status, "Problem"), said=said,
        near=near,
    )  # fmt: skip
    return HTMLResponse(
        html, status_code=status, headers={"Cache-Control": "no-store", **(headers or {})}
    )
