"""What is kept of what a run prints."""

from app.runs.output import Output


def test_what_is_over_the_bound_is_counted_and_dropped() -> None:
    output = Output(10)
    assert output.feed(b"12345\n789") == "12345\n"
    assert output.feed(b"0abc\n") == ""
    assert output.dropped == 4
    assert output.text() == "12345\n7890\n[4 more bytes were printed and dropped]\n"


def test_characters_split_between_two_reads_stay_whole() -> None:
    output = Output(100)
    euro = "10 €\n".encode()
    assert output.feed(euro[:4]) == ""
    assert output.feed(euro[4:]) == "10 €\n"


def test_bytes_that_are_no_text_do_not_stop_it() -> None:
    output = Output(100)
    output.feed(b"\xff\xfe\n")
    assert output.text() == "��\n"


def test_folders_are_hidden_even_where_reads_split_them() -> None:
    output = Output(100, (("/home/me/", "~/"), ("/home/me/wheel/", "")))
    shown = output.feed(b"at /home/me/whe") + output.feed(b"el/x.py and /home/me/y\n")
    assert shown == "at x.py and ~/y\n"


def test_a_line_without_end_is_shown_in_pieces() -> None:
    output = Output(100_000)
    assert len(output.feed(b"x" * 5000)) == 5000
