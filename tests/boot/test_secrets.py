import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server import settings as declared
from sandbox_server.boot import secrets
from sandbox_server.settings import BadSettings, Settings

ENTRY = {"source": {"env": "X"}, "bindings": [{"hosts": ["a.example"]}]}


def test_the_content_of_a_file_takes_the_place_of_its_path(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    file.write_text(json.dumps({"A": ENTRY}))
    found = secrets.with_declarations({"SECRETS": str(file), "B": "c"})
    assert declared.load(found).secrets.declared == {"A": ENTRY}
    assert found["B"] == "c"
    assert secrets.with_declarations({"B": "c"}) == {"B": "c"}


@pytest.mark.parametrize("content", ["[]", "{", "x" * (secrets.MAX_BYTES + 2)])
def test_a_file_that_holds_none_stops_the_start(tmp_path: Path, content: str) -> None:
    file = tmp_path / "secrets.json"
    file.write_text(content)
    for path in (file, tmp_path / "missing"):
        with pytest.raises(BadSettings, match="SECRETS names"):
            secrets.with_declarations({"SECRETS": str(path)})


@pytest.mark.parametrize(
    "entries",
    [
        {"A": {"bindings": [{"hosts": ["*.com"]}]}},
        {"A": {"source": {"file": "/workspace/x"}, "bindings": [{"hosts": ["a.example"]}]}},
        {"A": {**ENTRY, "variable": "V"}, "B": {**ENTRY, "variable": "V"}},
        {"A": {**ENTRY, "value": "not here"}},
    ],
)
def test_a_declaration_that_cannot_be_used_stops_the_start(entries: dict[str, object]) -> None:
    with pytest.raises(BadSettings, match="SECRETS"):
        secrets.check(declared.load({"SECRETS": json.dumps(entries)}))
    secrets.check(declared.load({}))


def test_the_directory_of_trust_is_root_s_and_trusts_nobody_yet(tmp_path: Path) -> None:
    settings = Settings()
    settings = replace(settings, paths=replace(settings.paths, agent_run=str(tmp_path)))
    secrets.prepare(settings)
    assert stat.S_IMODE(os.stat(tmp_path / "trust").st_mode) == 0o775
    assert os.stat(tmp_path / "trust").st_uid == os.geteuid()
    assert (tmp_path / "trust" / "authority.pem").read_text() == ""
    assert (tmp_path / "trust" / "ca-certificates.crt").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away, which needs root")
def test_a_file_that_the_agent_could_change_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    file.write_text(json.dumps({"A": ENTRY}))
    os.chown(file, declared.load({}).agent.uid, 0)
    with pytest.raises(BadSettings, match=r"SECRETS names .* could change"):
        secrets.with_declarations({"SECRETS": str(file)})
