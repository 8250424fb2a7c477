"""Exports are what their formats say: each line a record, the SARIF log valid by its schema."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from app.cli import main
from app.db import close_engines
from app.services.records import EntryRecord
from tests.web.catalogs import ENTRY_ID, wheel_of

SARIF = Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json"


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A catalog with the explained entries and a toy release."""
    folder = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{folder / 'catalog.db'}")
        patch.setenv("REPROBASE_CACHE_DIR", str(folder / "cache"))
        assert main(["scan", "--wheel", str(wheel_of(folder, "2.0"))]) == 0
        yield
    close_engines()


def exported(capsys: pytest.CaptureFixture[str], form: str, *more: str) -> str:
    capsys.readouterr()
    assert main(["export", "--format", form, *more]) == 0
    return capsys.readouterr().out


def faults(schema: dict[str, Any], document: Any, kind: Any) -> list[str]:
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
    return [f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(document)]


def test_every_line_of_ndjson_is_a_record_by_its_schema(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = exported(capsys, "ndjson").splitlines()
    schema = EntryRecord.model_json_schema(by_alias=True, mode="serialization")
    assert schema["required"], "the schema demands something"
    records = [json.loads(line) for line in lines]
    assert len({record["id"] for record in records}) == len(records) > 100
    assert ENTRY_ID in {record["id"] for record in records}
    for record in records:
        assert faults(schema, record, jsonschema.Draft202012Validator) == []
    whole = json.loads(exported(capsys, "json"))
    assert whole["records"] == records


def test_the_sarif_log_is_valid_and_its_results_have_rules(
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = json.loads(exported(capsys, "sarif"))
    schema = json.loads(SARIF.read_text(encoding="utf-8"))
    assert faults(schema, document, jsonschema.Draft4Validator) == []
    [run] = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) > 100
    assert run["results"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_the_schema_would_notice() -> None:
    schema = json.loads(SARIF.read_text(encoding="utf-8"))
    broken = {"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}
    assert faults(schema, broken, jsonschema.Draft4Validator)
