"""The packages that the scanner knows out of the box, and the file that says so."""

from pathlib import Path

import pytest

from app.exceptions import BadInputError
from app.scanner.packages import known_packages, package_facts
from tests.scanner.reading import read_files

OUT_OF_THE_BOX = {
    "sglang", "vllm", "transformers", "flashinfer-python", "torch", "triton", "diffusers", "peft",
    "huggingface-hub", "ray",
}  # fmt: skip


def test_ten_packages_are_known_and_two_have_native_checks() -> None:
    known = known_packages()
    assert set(known) == OUT_OF_THE_BOX
    assert {name for name, facts in known.items() if facts.native} == {"sglang", "torch"}
    assert all(facts.repository for facts in known.values())


def test_a_link_is_pinned_to_the_tag_of_the_release() -> None:
    facts = package_facts("sglang")
    link = facts.source_link("0.5.23", "sglang/srt/a.py", 3, 5)
    assert link == f"{facts.repository}/blob/v0.5.23/python/sglang/srt/a.py#L3-L5"
    ray = package_facts("ray").source_link("2.60.0", "ray/a.py", 3)
    assert ray is not None
    assert ray.endswith("/blob/ray-2.60.0/python/ray/a.py#L3")


def test_a_package_that_is_not_listed_has_no_links_but_the_common_functions() -> None:
    facts = package_facts("unheard-of")
    assert facts.source_link("1", "a.py", 1) is None
    assert "HTTPException" in facts.http


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a\n", "cannot be read"),
        ("[a]\nrepo = 1\n", "unknown key 'repo'"),
        ("[a]\nraises.f = { class = 'X' }\n", "needs a class and a message"),
        ("[a]\nhttp.f = { messages = 0 }\n", "http.f has 'messages'"),
    ],
)
def test_a_wrong_file_is_told(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "packages.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=said):
        known_packages(path)


def test_http_functions_of_one_package_are_not_looked_for_in_another() -> None:
    text = "def f(r):\n    return FINISH_ABORT(f'aborted {r}', 400)\n"
    (site,) = read_files({"a.py": text})["a.py"].sites
    assert (site.kind, site.http_status, site.template) == ("http", 400, "aborted {r}")
    assert read_files({"a.py": text}, package="ray")["a.py"].sites == []


def test_a_function_described_in_the_file_raises_what_the_file_says() -> None:
    text = """\
def f(x):
    if x:
        unimplemented(
            gb_type="odd call",
            context=str(x),
            explanation=f"cannot call {x}",
            hints=[*SUPPORTABLE],
        )
"""
    (site,) = read_files({"a.py": text}, package="torch")["a.py"].sites
    assert (site.error_class, site.line) == ("Unsupported", 3)
    assert site.template == "odd call\n  Explanation: cannot call {x}\n{[*SUPPORTABLE]}"
