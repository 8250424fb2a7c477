"""May this request run engine code here?

By default only one who sits at this machine may: the peer and the Host are loopback, the Origin is
the site's own, and nothing says that a proxy stands in between. Anything else gets a sentence that
tells how to run it locally.
"""

from starlette.requests import Request

from app.exceptions import ForbiddenError
from app.http.peers import host_name, is_forwarded, is_loopback, peer_of
from app.settings import Settings


def check_may_run(request: Request, settings: Settings, command: str) -> None:
    """Let the request pass or say why not.

    Args:
        request: the request that would start a run.
        settings: `allow_runs` decides first.
        command: what to type instead.

    Raises:
        ForbiddenError: it may not; the message names the reason and the command.
    """
    reason = why_not(request, settings)
    if reason is not None:
        raise ForbiddenError(f"{reason} Run it on your own machine instead: `{command}`.")


def why_not(request: Request, settings: Settings) -> str | None:  # noqa: PLR0911  # one a rule
    """Why this request may not run engine code, in a sentence; None if it may."""
    if settings.allow_runs == "never":
        return "Runs from the web are switched off on this site."
    if not _same_origin(request, behind_tls=settings.allow_runs == "always"):
        return "This request did not come from this site's own pages."
    if settings.allow_runs == "always":
        return None
    if not is_loopback(peer_of(request.scope)):
        return "Runs from the web are only for the machine that the site runs on."
    if not is_loopback(host_name(request.headers.get("host", ""))):
        return "Runs from the web need the site to be opened by its loopback address."
    if is_forwarded(request.headers):
        return "This request came through a proxy; runs are only for the machine itself."
    return None


def _same_origin(request: Request, *, behind_tls: bool) -> bool:
    """The Origin is the site's own; browsers send it with every POST, and scripts must too.

    Its scheme is the request's; only a site that lets everybody run may have a proxy in front of
    it that speaks https for it.
    """
    host = request.headers.get("host", "")
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    schemes = {request.url.scheme, *(("https",) if behind_tls else ())}
    return bool(host) and origin in {f"{scheme}://{host}" for scheme in schemes}
