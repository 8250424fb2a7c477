"""The pages: parse the address, call one service, render one template."""

from app.web import pages, static

ROUTERS = (static.router, pages.router)
