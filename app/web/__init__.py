"""The pages: parse the address, call one service, render one template."""

from app.web import catalog, front, operations, pages, static, texts

ROUTERS = (
    static.router,
    front.router,
    pages.router,
    catalog.router,
    texts.router,
    operations.router,
)
