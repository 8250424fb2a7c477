"""The pages: parse the address, call one service, render one template."""

from app.web import (
    catalog,
    diagnose,
    front,
    hits,
    operations,
    pages,
    preflight,
    runs,
    static,
    texts,
)

ROUTERS = (
    static.router,
    front.router,
    hits.router,
    pages.router,
    runs.router,
    diagnose.router,
    preflight.router,
    catalog.router,
    texts.router,
    operations.router,
)
