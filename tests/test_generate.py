from pathlib import Path

import pytest

from sandbox_server import generate, settings


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sandbox_server").mkdir()
    (tmp_path / "docs").mkdir()
    return tmp_path


def test_what_is_out_of_date_is_written_and_named(root: Path) -> None:
    assert generate.refresh(root, check=False) == ["sandbox_server/openapi.json", "docs/settings.md"]
    assert (root / "docs" / "settings.md").read_text().endswith(generate.table())
    assert '"/v1/sandbox"' in (root / "sandbox_server" / "openapi.json").read_text()
    assert generate.refresh(root, check=False) == []


def test_a_check_names_what_is_out_of_date_and_writes_nothing(root: Path) -> None:
    assert generate.refresh(root, check=True) == ["sandbox_server/openapi.json", "docs/settings.md"]
    assert not (root / "docs" / "settings.md").exists()
    assert not (root / "sandbox_server" / "openapi.json").exists()


def test_the_document_is_the_same_every_time() -> None:
    assert generate.openapi() == generate.openapi()


def test_the_table_has_every_variable_once_and_no_variable_is_declared_twice() -> None:
    names = [known.name for _, known in settings.variables()]
    assert len(names) == len(set(names))
    lines = generate.table().splitlines()
    assert [line.split("`")[1] for line in lines if line.startswith("| `")] == names
