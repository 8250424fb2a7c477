"""The JSON routes: parse, one service call, the same object that the page renders."""

from app.api import errors, families, releases, runs

ROUTERS = (errors.router, families.router, releases.router, runs.router)
