"""The conditions under which a site is reached, earlier exits included."""

from tests.scanner.reading import sites_in


def guards(text: str) -> list[tuple[str, str, int]]:
    (site,) = [s for s in sites_in(text) if s.template == "here"]
    return [(g.kind, g.text, g.line) for g in site.guards]


def test_conditions_are_told_outermost_first() -> None:
    text = """\
def f(a, b):
    if a > 1:
        for x in b:
            while x.go():
                if not x:
                    raise ValueError("here")
"""
    assert guards(text) == [
        ("if", "a > 1", 2),
        ("loop", "for x in b", 3),
        ("loop", "while x.go()", 4),
        ("if", "not x", 5),
    ]


def test_an_else_tells_every_test_that_failed_before_it() -> None:
    text = """\
def f(a):
    if a == 1:
        pass
    elif a == 2:
        pass
    else:
        raise ValueError("here")
"""
    assert guards(text) == [("else", "a == 1", 2), ("else", "a == 2", 4)]


def test_earlier_exits_and_assertions_of_the_same_block_count() -> None:
    text = """\
def f(a, b, c):
    if a is None:
        return 1
    if b:
        log(b)
    assert c > 0, "c"
    for x in b:
        if x:
            continue
        if x.done:
            if x.last:
                break
            else:
                raise KeyError(x)
        raise ValueError("here")
"""
    assert guards(text) == [
        ("exit", "a is None", 2),
        ("assert", "c > 0", 6),
        ("loop", "for x in b", 7),
        ("exit", "x", 8),
        ("exit", "x.done", 10),
    ]


def test_a_chain_counts_as_far_as_its_branches_leave() -> None:
    text = """\
def f(a):
    if a == 1:
        return
    elif a == 2:
        raise KeyError
    elif a == 3:
        a = 4
    elif a == 4:
        return
    raise ValueError("here")
"""
    assert guards(text) == [("exit", "a == 1", 2), ("exit", "a == 2", 4)]


def test_handlers_and_matches_are_conditions() -> None:
    text = """\
def f(a):
    try:
        g()
    except (OSError, KeyError) as e:
        match a:
            case [1, x] if x > 2:
                raise ValueError("here") from e
"""
    assert guards(text) == [
        ("except", "(OSError, KeyError)", 4),
        ("match", "a is [1, x] if x > 2", 5),
    ]


def test_a_handler_that_leaves_is_an_exit_and_one_that_goes_on_is_none() -> None:
    text = """\
def f(a):
    try:
        g()
    except OSError:
        return None
    except KeyError:
        pass
    raise ValueError("here")
"""
    assert guards(text) == [("exit", "except OSError", 4)]


def test_a_function_begins_anew() -> None:
    text = """\
if x:
    class C:
        if y:
            def f(self):
                if z:
                    def g():
                        raise ValueError("here")
"""
    assert guards(text) == []


def test_an_assertion_ends_with_its_own_check() -> None:
    (site,) = sites_in("def f(a):\n    if a:\n        assert a.n == 3, 'here'\n")
    assert [(g.kind, g.text) for g in site.guards] == [("if", "a"), ("assert", "a.n == 3")]
    assert site.nearest == "assert a.n == 3"


def test_equal_conditions_on_different_lines_keep_their_lines() -> None:
    text = "\n".join(
        f"def f{i}(a):\n    if a:\n        raise ValueError('n{i}')" for i in range(50)
    )
    assert [s.guards[0].line for s in sites_in(text)] == [2 + 3 * i for i in range(50)]


def test_a_long_condition_is_one_line_and_cut() -> None:
    names = " and\n        ".join(f"condition_number_{i}.holds" for i in range(60))
    (site,) = sites_in(f"def f():\n    if ({names}):\n        raise ValueError('here')\n")
    (guard,) = site.guards
    assert "\n" not in guard.text
    assert guard.text.endswith("…")
    assert len(guard.text) < 700
