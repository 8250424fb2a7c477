"""`reprobase mcp`: the five read-only tools for language models, on standard input and output."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""
    parser.epilog = (
        "For a client that starts it, such as an editor or an assistant. A running site offers the "
        "same tools over HTTP at /mcp."
    )


def run(_args: argparse.Namespace) -> int:
    """Serve until standard input ends."""
    from app.commands.catalog import catalog
    from app.mcp.stdio import serve_stdio
    from app.settings import load_settings

    settings = load_settings()
    with catalog(settings):
        pass  # a catalog that cannot be used is told before a client waits for it
    serve_stdio(settings)
    return 0
