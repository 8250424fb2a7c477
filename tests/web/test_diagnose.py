"""A log on the page and over the API: packed or plain, bounded, masked, never stored."""

import gzip
import json
import zlib

import pytest
import zstandard
from starlette.testclient import TestClient

from app.http import bodies
from app.knowledge.entry_file import read_entry_file
from app.loading.curated import ERRORS_DIR
from tests.web.catalogs import SLUG
from tests.web.markup import Page

KDA = "kda-verify-exceeds-scratch-steps"
FIX = read_entry_file(ERRORS_DIR / f"{KDA}.md").solutions[0]
LOG = """[2026-11-29 07:41:10 TP3] Scheduler hit an exception: Traceback (most recent call last):
  File "/home/somebody/sglang/srt/layers/attention/kda_flashinfer.py", line 296, in target_verify
    raise RuntimeError(
RuntimeError: KDA verify needs 4 scratch steps, but intermediate_ssm only has 3.

[2026-11-29 07:41:11 TP3] api_key=sk-abcdefghijklmnopqrstuvwxyz
"""


def test_the_answer_has_the_keys_of_the_contract_and_knows_the_error(site: TestClient) -> None:
    answer = site.post("/api/diagnose", content=LOG, headers={"content-type": "text/plain"})
    assert answer.status_code == 200
    found = answer.json()
    assert set(found) >= {"verdict", "rootCause", "findings", "missing", "release", "redacted"}
    assert found["verdict"] == "known"
    cause = found["findings"][found["rootCause"]]
    assert cause["slug"] == KDA
    assert str(cause["params"]["draft_token_num"]) == "4"
    assert cause["rank"] == "TP3"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("way", ["json", "gzip", "zstd", "deflate"])
def test_every_form_of_a_body_gives_the_same_answer(site: TestClient, way: str) -> None:
    plain = site.post("/api/diagnose", content=LOG).json()
    raw = LOG.encode()
    body, headers = {
        "json": (json.dumps({"log": LOG}).encode(), {"content-type": "application/json"}),
        "gzip": (
            gzip.compress(raw[:50], mtime=0) + gzip.compress(raw[50:], mtime=0),
            {"content-encoding": "gzip"},
        ),
        "zstd": (zstandard.compress(raw), {"content-encoding": "zstd"}),
        "deflate": (zlib.compress(raw), {"content-encoding": "deflate"}),
    }[way]
    assert site.post("/api/diagnose", content=body, headers=headers).json() == plain


@pytest.mark.parametrize(
    ("body", "headers", "status", "said"),
    [
        (b"", {}, 422, "log is empty"),
        (b"{", {"content-type": "application/json"}, 400, "not JSON"),
        (b"[]", {"content-type": "application/json"}, 400, "{log, command, release}"),
        (b'{"log": 3}', {"content-type": "application/json"}, 400, "log"),
        (b'{"logs": "x"}', {"content-type": "application/json"}, 400, "log"),
        (b"\xff\xfe{", {"content-type": "application/json"}, 400, "The body is not"),
        (b"x", {"content-encoding": "gzip"}, 400, "not gzip"),
        (
            gzip.compress(b"x" * 99, mtime=0)[:-12],
            {"content-encoding": "gzip"},
            400,
            "not all of it",
        ),
        (b"x", {"content-encoding": "zstd"}, 400, "not zstd"),
        (b"x", {"content-encoding": "br"}, 400, "not offered"),
    ],
)
def test_a_body_that_cannot_be_read_is_told(
    site: TestClient, body: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    answer = site.post("/api/diagnose", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in answer.json()["detail"]


def test_a_release_that_is_none_is_told(site: TestClient) -> None:
    answer = site.post("/api/diagnose", params={"release": "sglang"}, content=LOG)
    assert answer.status_code == 400


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_ends_at_the_limit(
    site: TestClient, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    """A small body that becomes a large one is refused after the limit, not after all of it."""
    pack = gzip.compress if encoding == "gzip" else zstandard.compress
    bomb = pack(b"\0" * (64 << 20))
    with pytest.raises(bodies.TooLargeError):
        bodies.unpack(bomb, encoding, most=1 << 20)
    monkeypatch.setattr(bodies.unpack, "__defaults__", (1 << 20,))
    monkeypatch.setitem(bodies.read_body.__kwdefaults__, "most_unpacked", 1 << 20)
    answer = site.post("/api/diagnose", content=bomb, headers={"content-encoding": encoding})
    assert answer.status_code == 413
    assert "reprobase diagnose FILE" in answer.json()["detail"]


def test_the_page_shows_cause_fix_and_log_with_secrets_masked(site: TestClient) -> None:
    answer = site.post("/diagnose", data={"text": LOG, "command": "", "release": ""})
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    page = Page(answer.text)
    assert page.unclosed == []
    for text in ("KDA verify needs 4 scratch steps", "Do this first", FIX.title, "How sure",
                 "known", "TP3", "The log"):  # fmt: skip
        assert text in page.words, text
    assert f'href="/errors/{KDA}"' in answer.text
    assert "sk-abcdefghijklmnopqrstuvwxyz" not in answer.text
    assert "/home/somebody/" not in answer.text
    assert all("style" not in attributes for _, attributes in page.elements)


def test_a_file_can_be_sent_packed_or_plain(site: TestClient) -> None:
    for name, raw in (
        ("server.log", LOG.encode()), ("server.log.gz", gzip.compress(LOG.encode(), mtime=0)),
        ("server.log.zst", zstandard.compress(LOG.encode())),
    ):  # fmt: skip
        answer = site.post("/diagnose", files={"file": (name, raw)})
        assert FIX.title in Page(answer.text).words, name


def test_a_pasted_log_may_be_large(site: TestClient) -> None:
    filler = "[2026-11-29 07:41:09 TP3] Decode batch, #running-req: 18\n" * 40_000
    for way in ({"data": {"text": filler + LOG}}, {"files": {"text": (None, filler + LOG)}}):
        answer = site.post("/diagnose", **way)
        assert answer.status_code == 200
        assert FIX.title in Page(answer.text).words


def test_an_empty_form_says_what_to_do(site: TestClient) -> None:
    answer = site.post("/diagnose", data={"text": " "})
    assert answer.status_code == 422
    assert "paste a log" in answer.text
    assert site.get("/diagnose").status_code == 200


def test_a_log_cannot_write_into_the_page(site: TestClient) -> None:
    hostile = (
        LOG.replace("only has 3", "only has 3<script>alert(1)</script>") + "<img src=x onerror=a>\n"
    )
    html = site.post("/diagnose", data={"text": hostile}).text
    assert "<script>alert" not in html
    assert "<img" not in html


def test_what_is_typed_is_told_for_what_it_is(site: TestClient) -> None:
    def ask(text: str) -> dict[str, object]:
        return dict(site.post("/api/ask", content=text.encode()).json())

    words = ask("needs rows")
    assert (words["kind"], SLUG) == ("words", words["records"][0]["slug"])
    message = ask("ValueError: needs 16 rows, has 8")
    assert (message["kind"], message["said"]) == ("log", "An error message; 1 error like it")
    assert message["records"][0]["slug"] == SLUG
    log = ask(LOG)
    assert (log["kind"], log["records"], log["said"]) == (
        "log",
        [],
        "A log, 6 lines: what came first?",
    )
    assert ask("python -m sglang.launch_server --tp 8")["kind"] == "command"
    assert ask(" ")["kind"] == "nothing"
