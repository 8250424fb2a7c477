"""What a run prints: kept up to a bound, the rest counted and dropped as it comes."""

import codecs
from typing import Final

_LONGEST_LINE: Final = 4096


class Output:
    """Collects printed bytes.

    Args:
        limit: how many bytes are kept.
        hidden: (text, replacement): folders of this machine, which a record does not show.
    """

    def __init__(self, limit: int, hidden: tuple[tuple[str, str], ...] = ()) -> None:
        self._left = limit
        self._hidden = sorted(hidden, key=lambda h: -len(h[0]))
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept: list[str] = []
        self._line = ""
        self.dropped = 0

    def feed(self, data: bytes) -> str:
        """Take printed bytes; returns the lines that became whole, to be shown at once."""
        kept = data[: self._left]
        self._left -= len(kept)
        self.dropped += len(data) - len(kept)
        text = self._line + self._decoder.decode(kept)
        cut = text.rfind("\n") + 1
        if not cut and len(text) > _LONGEST_LINE:
            cut = len(text)
        self._line = text[cut:]
        return self._keep(text[:cut])

    def text(self) -> str:
        """All that was kept, with a last line that says what was not."""
        self._keep(self._line + self._decoder.decode(b"", final=True))
        self._line = ""
        if self.dropped:
            self._keep(f"\n[{self.dropped:,} more bytes were printed and dropped]\n")
            self.dropped = 0
        return "".join(self._kept)

    def _keep(self, text: str) -> str:
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")  # which no database stores
        for folder, shown in self._hidden:
            text = text.replace(folder, shown)
        if text:
            self._kept.append(text)
        return text
