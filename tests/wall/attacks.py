"""A toy release whose check does what it should not, run for real."""

import textwrap
from typing import Any

from app.runs import execute
from reproducers.protocol import Limits, Result
from tests.runs.toys import Toys

TRY = '''
def tried(call, *args, **options):
    """What came of it: `done`, or the name of the error."""
    try:
        call(*args, **options)
    except BaseException as e:
        return type(e).__name__
    return "done"
'''


def attack(toys: Toys, body: str, limits: Limits | None = None, **names: Any) -> Result:
    """Run a toy release whose `check` does this, and give its values back."""
    engine = f"{TRY}\n\ndef check(n):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    for name, value in names.items():
        engine = engine.replace(f"<{name}>", repr(value))
    reproducer = """
        def trigger(subject):
            found = subject.load("toy.engine").check(5)
            for name, value in (found or {}).items():
                subject.value(name, value)
    """
    return execute(toys.request(engine=engine, reproducer=reproducer, limits=limits))
