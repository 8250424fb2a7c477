"""What a check of a release can reach: no network, no file of the user, nothing of the caller."""

import json
import os
import socket
from pathlib import Path

import pytest

from app.settings import Settings
from tests.preflight.altered import GUARD, answer_of_altered

TRY = """if True:
            import json, os, socket
            def trying(what):
                try:
                    return "did: " + repr(what())
                except Exception as e:
                    return "could not: " + type(e).__name__
            raise ValueError("TOLD" + json.dumps({{
                "connected": trying(lambda: socket.create_connection(("127.0.0.1", {port}), 3)),
                "resolved": trying(lambda: socket.getaddrinfo("localhost.example.com", 80)),
                "read": trying(lambda: open({secret!r}).read()),
                "listed": trying(lambda: os.listdir({folder!r})),
                "wrote": trying(lambda: open({new!r}, "w").write("x")),
                "wrote wheel": trying(lambda: open(__file__, "a").write("x")),
                "environment": dict(os.environ),
            }}))
        if False:"""
CALLERS = {
    "CUDA_VISIBLE_DEVICES": "5",
    "TZ": "Asia/Tokyo",
    "TRITON_INTERPRET": "1",
    "LC_ALL": "C.UTF-8",
    "SGLANG_CALLERS_OWN": "secret",
    "HF_TOKEN": "hf_secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
}


@pytest.mark.wheel
def test_a_check_reaches_neither_network_nor_files_nor_the_callers_environment(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that is replaced by one that tries to get out says that it could not."""
    for name, value in CALLERS.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "of-the-user"
    folder.mkdir()
    secret, new = folder / "secret", folder / "new"
    secret.write_text("the user's own")
    for path in (secret, *secret.parents):
        if path.is_relative_to(tmp_path.parent.parent) and path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode | 0o055)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 3).close()  # here it can be reached
        listener.accept()[0].close()
        trying = TRY.format(port=port, secret=str(secret), folder=str(folder), new=str(new))
        answer = answer_of_altered(
            GUARD, trying, settings, tmp_path.name, {"SGLANG_OF_THE_LINE": "yes"}
        )
        listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listener.accept()
    message = answer.main["findings"][0]["message"]
    told = json.loads(message.removeprefix("TOLD"))
    environment = told.pop("environment")
    assert {k: v for k, v in told.items() if not v.startswith("could not")} == {}
    assert environment["SGLANG_OF_THE_LINE"] == "yes"
    assert not set(CALLERS) & set(environment)
    assert not any("secret" in v for v in environment.values())
    assert sorted(p.name for p in folder.iterdir()) == ["secret"]
    assert any("network: none" in m for m in answer.isolation)
