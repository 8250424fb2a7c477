"""The conditions that decide whether a site is reached."""

import ast

from reproducers.synthesis.places import Place
from reproducers.synthesis.running import Runner


def guards_of(place: Place) -> list[tuple[ast.stmt, ast.expr | None, bool]]:
    """The conditions that decide last whether a site is reached: statement, test, which way.

    An assertion is its own; else the nearest condition around; else the exits before it.
    """
    site = place.site
    if isinstance(site, ast.Assert):
        return [(site, site.test, False)]
    node: ast.stmt = site
    while id(node) in place.parents:
        parent, where = place.parents[id(node)]
        if isinstance(parent, ast.If | ast.While) and where in ("body", "orelse"):
            found: list[tuple[ast.stmt, ast.expr | None, bool]] = []
            while isinstance(parent, ast.If | ast.While) and where in ("body", "orelse"):
                found.append((parent, parent.test, where == "body"))
                above = place.parents.get(id(parent))
                is_elif = where == "orelse" and above is not None and above[1] == "orelse"
                if not is_elif or above is None:
                    break
                parent, where = above
            return found
        if isinstance(parent, ast.Try) and where == "handler":
            return [(parent.body[0], None, True)]
        if isinstance(parent, ast.Match | ast.For | ast.AsyncFor):
            return [(parent, None, True)]
        node = parent
    before = [s.node for s in place.steps if s.wanted == "pass"]
    exits: list[tuple[ast.stmt, ast.expr | None, bool]] = [
        (s, s.test, False) for s in before if isinstance(s, ast.If)
    ]
    return exits[-3:][::-1]


def watch_guards(runner: Runner) -> None:
    """Tell the runner which conditions decide whether the site is reached."""
    place = runner.target.place
    runner.guard_nodes = {id(node) for node, _, _ in guards_of(place)}
    for step in place.steps:
        if step.wanted in ("true", "false", "enter", "match") or (
            isinstance(step.node, ast.If) and _leaves(step.node)
        ):
            runner.outer_nodes.add(id(step.node))


def _leaves(node: ast.If) -> bool:
    return any(isinstance(n, ast.Return | ast.Raise) for n in ast.walk(node))
