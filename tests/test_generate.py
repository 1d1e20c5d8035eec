from pathlib import Path

import pytest

from sandbox_server import generate, settings

README = f"# X\n\n{generate.BEGIN}old\n{generate.END}\nAfter.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sandbox_server").mkdir()
    (tmp_path / "README.md").write_text(README)
    return tmp_path


def test_what_is_out_of_date_is_written_and_named(root: Path) -> None:
    assert generate.refresh(root, check=False) == ["sandbox_server/openapi.json", "README.md"]
    assert '"/v1/sandbox"' in (root / "sandbox_server" / "openapi.json").read_text()
    assert generate.refresh(root, check=False) == []


def test_a_check_names_what_is_out_of_date_and_writes_nothing(root: Path) -> None:
    assert generate.refresh(root, check=True) == ["sandbox_server/openapi.json", "README.md"]
    assert (root / "README.md").read_text() == README
    assert not (root / "sandbox_server" / "openapi.json").exists()


def test_the_table_of_settings_stands_between_its_marks(root: Path) -> None:
    generate.refresh(root, check=False)

    text = (root / "README.md").read_text()
    assert text.startswith("# X\n")
    assert text.endswith(f"{generate.END}\nAfter.\n")
    assert generate.table() in text
    assert "old\n" not in text


def test_a_readme_without_the_marks_is_left_alone(root: Path) -> None:
    (root / "README.md").write_text("# X\n")

    assert generate.refresh(root, check=False) == ["sandbox_server/openapi.json"]
    assert (root / "README.md").read_text() == "# X\n"


def test_the_document_is_the_same_every_time() -> None:
    assert generate.openapi() == generate.openapi()


def test_the_table_has_every_variable_once_and_no_variable_is_declared_twice() -> None:
    names = [known.name for _, known in settings.variables()]
    assert len(names) == len(set(names))
    lines = generate.table().splitlines()
    assert [line.split("`")[1] for line in lines if line.startswith("| `")] == names
