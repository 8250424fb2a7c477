"""A launch line on the page and over the API: only for the machine itself, bounded, answered."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import load_settings
from tests.web.conftest import settings_in
from tests.web.markup import Page

HERE = {"origin": "http://127.0.0.1:8000"}
LINE = (
    "python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --tp 2 "
    "--speculative-algorithm EAGLE --speculative-eagle-topk 4 --enable-linear-replayssm-spec"
)


def test_only_the_machine_itself_may_check(site: TestClient) -> None:
    for answer in (
        site.post("/api/preflight", json={"command": LINE}),
        site.post("/api/preflight", content=LINE, headers={"origin": "http://evil.example"}),
        site.post("/api/preflight", content=LINE, headers=HERE | {"x-forwarded-for": "1.2.3.4"}),
    ):
        assert answer.status_code == 403
        assert "`reprobase preflight -- COMMAND`" in answer.json()["detail"]
    assert site.post("/preflight", data={"text": LINE}).status_code == 403


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"command": " "}, 400, "launch line is empty"),
        ({"command": "x" * (65 << 10)}, 413, "65"),
        ({"command": LINE, "gpu": "abacus"}, 400, "abacus"),
        ({"command": LINE, "release": "torch==2.0"}, 400, "torch"),
        ({"command": LINE, "config": "{"}, 400, "config"),
        ({"line": LINE}, 400, "command"),
        ({"command": "ls -l"}, 400, ""),
    ],
)
def test_what_cannot_be_checked_is_told(
    site: TestClient, body: dict[str, str], status: int, said: str
) -> None:
    answer = site.post("/api/preflight", json=body, headers=HERE)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in answer.json()["detail"]


@pytest.mark.wheel
def test_a_line_is_refused_by_the_release_and_the_corrected_one_passes(tmp_path: Path) -> None:
    """The release's own check, its entry, a change that passes, on the page and as JSON."""
    settings = settings_in(tmp_path, CACHE_DIR=str(load_settings().cache_dir))
    with TestClient(
        create_app(settings), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1)
    ) as site:
        wanted = {"command": LINE, "release": "sglang==0.5.23", "gpu": "h200"}
        found = site.post("/api/preflight", json=wanted, headers=HERE).json()
        assert set(found) >= {"release", "gpu", "command", "verdict", "findings", "skipped"}
        assert (found["verdict"], found["release"], found["gpu"]) == (
            "fail", "sglang==0.5.23", "h200",
        )  # fmt: skip
        [error] = [f for f in found["findings"] if f["level"] == "error"]
        assert error["slug"] == "replayssm-spec-needs-linear-chain"
        assert error["evidence"] == "executed"
        better = {**wanted, "command": error["suggestedCommand"]}
        again = site.post("/api/preflight", json=better, headers=HERE).json()
        assert again["verdict"] == "pass"
        form = {"text": LINE, "release": "sglang==0.5.23", "gpu": "h200"}
        page = Page(site.post("/preflight", data=form, headers=HERE).text)
        assert page.unclosed == []
        for text in ("This line is refused.", error["message"], error["suggestedCommand"]):
            assert " ".join(text.split()) in page.words
