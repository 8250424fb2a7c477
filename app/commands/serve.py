"""`reprobase serve`: the site; it answers at once and scans the default release behind that."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.settings import Settings


_MOST_PORT = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `serve`."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=1, help="processes that answer")
    parser.add_argument("--no-scan", action="store_true", help="leave the default release alone")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    import socket

    from app.db import close_engines
    from app.exceptions import BadInputError, UnavailableError
    from app.http.logs import set_up
    from app.services.scanning import BackgroundScan
    from app.settings import load_settings

    settings = load_settings()
    set_up(settings)
    if args.workers < 1:
        raise BadInputError(f"--workers is {args.workers}; at least one process must answer.")
    if not 0 <= args.port <= _MOST_PORT:
        raise BadInputError(f"--port is {args.port}; ports go from 1 to {_MOST_PORT}.")
    try:
        with socket.create_server((args.host, args.port), reuse_port=False):
            pass
    except (OSError, UnicodeError) as e:
        raise UnavailableError(why_not_there(args.host, args.port, e)) from e
    prepare(settings)
    scan = BackgroundScan(settings)
    if not args.no_scan and scan.start():
        print(f"Scanning {settings.default_release} in the background.", file=sys.stderr)
    if args.workers > 1:
        close_engines()
    shown = f"[{args.host}]" if ":" in args.host else args.host
    print(f"Reprobase is at http://{shown}:{args.port} (Ctrl-C stops it)", file=sys.stderr)
    try:
        _serve(settings, args)
    finally:
        if scan.going:
            print("Ending the background scan; the next start takes it up.", file=sys.stderr)
        scan.stop()
    return 0


def why_not_there(host: str, port: int, error: Exception) -> str:
    """Why an address cannot be listened on, and what to try instead."""
    import errno

    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        other = port + 1 if port < _MOST_PORT else 8000
        return f"Port {port} on {host} is in use by another program. Try `--port {other}`."
    if number in (errno.EACCES, errno.EPERM):
        return f"Port {port} on {host} needs rights that you do not have. Try `--port 8000`."
    return (
        f"{host!r} is no address of this machine. Try `--host 127.0.0.1` for this machine alone, "
        "or `--host 0.0.0.0` for its network."
    )


def prepare(settings: "Settings") -> None:
    """Bring the catalog up to date with `data/`, and end runs that nobody watches any more."""
    from app.db import session
    from app.loading.curated import load_curated
    from app.loading.evidence import load_evidence
    from app.loading.remembered import missing, remember_catalog
    from app.services.found import load_found
    from app.services.run_worker import end_forgotten

    with session(settings) as db:
        load_curated(db)
        load_evidence(db)
        load_found(db, settings)
        lost = [r.name for r in missing(db, settings) if r.name != settings.default_release]
        remember_catalog(db, settings)
    if lost:
        print(
            f"The database lacks releases scanned before ({', '.join(lost)}): "
            "`reprobase load` brings them back.",
            file=sys.stderr,
        )
    end_forgotten(settings)


def _serve(settings: "Settings", args: argparse.Namespace) -> None:
    import uvicorn

    from app.http.logs import log_options

    options = {
        "host": args.host,
        "port": args.port,
        **log_options(settings),
        "server_header": False,
        "http": "app.http.protocol:PunctualProtocol",
        "ws": "none",
        "proxy_headers": False,  # who the peer is decides whether code may run: believe no header
        "timeout_graceful_shutdown": 3,
    }
    if args.workers == 1:
        from app.main import create_app

        uvicorn.run(create_app(settings), **options)
    else:
        uvicorn.run("app.main:create_app", factory=True, workers=args.workers, **options)
