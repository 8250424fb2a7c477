"""Secrets are masked, facts are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.diagnosis.diagnose import diagnose
from app.diagnosis.matcher import Matcher
from app.diagnosis.redact import redact
from tests.diagnosis.test_matcher import FULL

SECRETS = [
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    "sk-proj-abcdefghijklmnopqrst",
    "ghp_abcdefghijklmnopqrstuvwx",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk",
    "somebody@example.com",
    "203.0.113.7",
    "fe80::1ff:fe23:4567:890a",
]
KEPT = [
    "hf_transformers_utils.py",
    "127.0.0.1:30000",
    "0.0.0.0",
    "cuda 12.8.0.38",
    "nccl==2.27.3.1",
    "rid='c0ffee00c0ffee00c0ffee00c0ffee00'",
    "ping @yizhang2077: broken",
    "max_total_num_tokens=300",
    "[2026-08-30 11:00:01 TP0]",
    "tokenizer_path='x'",
    "0x7f3b6d41df86",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_are_masked_and_counted(secret: str) -> None:
    text, count = redact(f"before {secret} after")
    assert secret not in text
    assert count == 1
    assert text.startswith("before <")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("api_key=abc123def --port 1", "api_key=<secret> --port 1"),
        ("--api-key s3cr3t --port 1", "--api-key <secret> --port 1"),
        ("Authorization: Bearer abcdef.ghi", "Authorization: Bearer <token>"),
        ("/home/alice/models/m", "/home/<user>/models/m"),
        ("/Users/alice/models/m", "/Users/<user>/models/m"),
        ("http://bob:pw@host/x", "http://<user>@host/x"),
        ("obj(rid='1', text='my secret question')", "obj(rid='1', text='<prompt>')"),
        ('{"prompt": "my \\"secret\\" question"}', '{"prompt": "<prompt>"}'),
    ],
)
def test_what_stands_around_a_secret_stays(text: str, masked: str) -> None:
    assert redact(text)[0] == masked


@pytest.mark.parametrize("fact", KEPT)
def test_facts_are_kept(fact: str) -> None:
    assert redact(fact) == (fact, 0)


@given(st.text(max_size=300))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once, _ = redact(text)
    assert redact(once)[0] == once or "<" in text


def test_nothing_of_a_secret_is_in_an_answer(engine: Matcher) -> None:
    log = (
        "HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrSt python -m sglang.launch_server --api-key s3cr3t\n"
        f"ValueError: {FULL}\n"
    )
    answer = diagnose(log, matcher=engine, command="sglang serve --api-key s3cr3t")
    assert answer.redacted == 2
    assert "s3cr3t" not in str(answer.to_json())
    assert "hf_AbCd" not in str(answer.to_json())
