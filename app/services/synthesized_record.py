"""What a page shows of a trigger and a fix that the program found."""

from sqlmodel import Field

from app.models import Public


class SynthesizedPage(Public):
    """What the page of an entry shows of what the program found."""

    subject: str
    level: str
    """launch: a launch line raises it; function: a call of the function does; none."""
    trigger: str = ""
    """A command or a snippet."""
    fix: str = ""
    fix_rank: str = ""
    """legal value | dropped | other choice | switched off."""
    fix_text: str = ""
    """The change in words."""
    assumptions: list[str] = Field(default_factory=list)
    api_only: bool = False
    reason: str = ""
    """A code, where there is no trigger or no fix."""
    reason_text: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
