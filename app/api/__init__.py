"""The JSON routes: parse, one service call, the same object that the page renders."""

from app.api import ask, diagnose, errors, families, preflight, releases, runs

ROUTERS = (
    ask.router,
    diagnose.router,
    errors.router,
    families.router,
    preflight.router,
    releases.router,
    runs.router,
)
