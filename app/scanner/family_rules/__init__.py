"""The table of family rules, in the order in which they are asked; the first that holds decides.

What an engine does next comes first (logs only), then what is missing around it, what is checked
about a value, settings, state, and at last the families that say least. Within that, plain words of
the message come before the guard and the guard before the class.
"""

from typing import Final

from app.scanner.family_rules.rule import Rule
from app.scanner.family_rules.settings import SETTINGS
from app.scanner.family_rules.states import STATES
from app.scanner.family_rules.surroundings import SURROUNDINGS
from app.scanner.family_rules.values import VALUES

__all__ = ["RULES", "Rule"]

RULES: Final[tuple[Rule, ...]] = (*SURROUNDINGS, *VALUES, *SETTINGS, *STATES)
