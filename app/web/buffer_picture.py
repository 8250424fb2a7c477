"""Buffers as SVG: how long each is, what a copy addresses of it, and what the copy brings."""

from typing import Final

from markupsafe import Markup, escape

from app.services.buffers import Buffer, Buffers

WIDTH: Final = 640
_ROW, _BAR, _TOP = 46, 16, 4


def buffer_picture(found: Buffers) -> Markup:
    """One bar a buffer: its outline, within it what is addressed, and over that what is brought."""
    longest = max(max(row.size, row.given) for row in found.rows)
    height = _TOP + _ROW * len(found.rows)

    def wide(elements: int) -> str:
        return f"{max(elements / longest * (WIDTH - 2), 1 if elements else 0):.1f}"

    label = escape(f"{found.title}, {found.step}: {'; '.join(map(_said, found.rows))}.")
    box = f'viewBox="0 0 {WIDTH} {height}" role="img"'
    out = [f'<svg class="buffers" {box} aria-label="{label}">']
    for index, row in enumerate(found.rows):
        top = _TOP + index * _ROW + 18
        out.append(f'<text x="1" y="{top - 5}">{escape(_said(row))}</text>')
        for kind, elements, inset in (
            ("size", row.size, 0),
            ("places", row.places, 0),
            ("fits" if row.fits else "misfit", row.given, 4),
        ):
            tall = f'y="{top + inset}" height="{_BAR - 2 * inset}"'
            out.append(f'<rect class="{kind}" x="1" {tall} width="{wide(elements)}"/>')
    out.append("</svg>")
    return Markup("".join(out))  # noqa: S704  # numbers, and text that was escaped


def _said(row: Buffer) -> str:
    verdict = "fits" if row.fits else "does not fit"
    return f"{row.name}: {row.given} into {row.places} of {row.size}, {verdict}"
