"""What stands in place of an engine's own objects is shown, and never differs between two runs."""

from types import SimpleNamespace

from reproducers.protocol import Request
from reproducers.protocol import Subject as Named
from reproducers.upstream.showing import shown
from reproducers.upstream.subject import Subject


class Worker:
    """A stand-in with code of its own."""

    steps = 3


def answer() -> int:
    """A function that a stand-in holds."""
    return 1


def test_a_class_and_its_objects_are_shown_by_their_code() -> None:
    assert shown(Worker).startswith("class Worker:")
    assert shown(Worker()) == shown(Worker)


def test_a_namespace_is_shown_by_what_it_holds_and_its_functions_by_their_code() -> None:
    text = shown(SimpleNamespace(size=16, inner=SimpleNamespace(a=[1]), kind=Worker, ask=answer))
    assert text.splitlines()[:3] == ["size = 16", "inner = (a=[1])", "kind = Worker"]
    assert "return 1" in text


def test_no_address_of_an_object_is_shown() -> None:
    one, two = (shown(SimpleNamespace(thing=object(), worker=Worker())) for _ in range(2))
    assert one == two == "thing = object\nworker = Worker"


def test_an_object_that_is_handed_over_is_declared_once_and_given_back() -> None:
    request = Request(kind="reproducer", subject=Named(name="reference"), scratch="")
    subject = Subject(request, None, lambda _event: None)
    worker = Worker()
    for _ in range(2):
        assert subject.in_place_of("EagleWorker", worker, why="no model is loaded") is worker
    [entry] = subject.substitutes
    assert (entry["name"], entry["ran"]) == ("EagleWorker", True)
    assert "steps = 3" in entry["code"]
