from pathlib import Path

from sandbox_server.drivers.skill_store import SkillStore


def test_nothing_was_ever_registered_and_nothing_is_left_are_two_things(tmp_path: Path) -> None:
    store = SkillStore(f"{tmp_path}/skills.json")
    assert store.read() is None
    store.write({})
    assert store.read() == {}


def test_what_is_written_is_read_by_the_next_server_and_by_nobody_else(tmp_path: Path) -> None:
    SkillStore(f"{tmp_path}/skills.json").write({"a": {"path": "/x"}})
    assert SkillStore(f"{tmp_path}/skills.json").read() == {"a": {"path": "/x"}}
    assert oct((tmp_path / "skills.json").stat().st_mode) == "0o100600"
