"""The pages: parse the address, call one service, render one template."""

from app.web import catalog, front, operations, pages, runs, static, texts

ROUTERS = (
    static.router,
    front.router,
    pages.router,
    runs.router,
    catalog.router,
    texts.router,
    operations.router,
)
