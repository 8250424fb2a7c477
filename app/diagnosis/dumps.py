"""Text that a user sent to the model: where a line quotes it, nothing in it is the program's."""

import re
from typing import Final

DUMP: Final = re.compile(
    r"\b(?:text|prompt|input_text|messages|content|input_ids|obj|body|query)\s?[=:]\s?['\"\[{(]"
    r"|\bGenerateReqInput\(|\"(?:prompt|messages|content|text)\"\s?:|\b(?:Receive|Finish): obj="
)
"""The beginning of such a quotation, as engines and clients log requests."""
