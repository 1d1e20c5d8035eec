from pathlib import Path

from sandbox_server.drivers.storage.json_file import JsonFile


def test_what_was_never_written_and_what_is_empty_are_two_things(tmp_path: Path) -> None:
    file = JsonFile(f"{tmp_path}/state.json")
    assert file.read() is None
    file.write({})
    assert file.read() == {}


def test_what_is_written_is_read_by_the_next_process_and_by_no_other_user(tmp_path: Path) -> None:
    JsonFile(f"{tmp_path}/state.json").write({"a": [1]})
    assert JsonFile(f"{tmp_path}/state.json").read() == {"a": [1]}
    assert oct((tmp_path / "state.json").stat().st_mode) == "0o100600"
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]
