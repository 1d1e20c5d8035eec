import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot import trusted_files
from sandbox_server.boot.trusted_files import check, require_unwritable
from sandbox_server.settings import BadSettings, Settings, load

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away, which needs root")
AGENT = 1000


def settings(folder: Path, **environ: str) -> Settings:
    made = load(environ)
    return replace(made, agent=replace(made.agent, workspace=f"{folder}/work"))


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    """A file of root's in a directory of root's."""
    (tmp_path / "etc").mkdir(mode=0o755)
    made = tmp_path / "etc" / "file.json"
    made.write_text("{}")
    made.chmod(0o644)
    return made


def give_file(file: Path) -> None:
    os.chown(file, AGENT, 0)


def give_directory(file: Path) -> None:
    os.chown(file.parent, AGENT, 0)


def give_group(file: Path) -> None:
    os.chown(file, 0, AGENT)
    file.chmod(0o664)


def give_everybody(file: Path) -> None:
    file.chmod(0o666)


def give_everybody_the_directory(file: Path) -> None:
    file.parent.chmod(0o777)


def refused(path: Path | str, folder: Path) -> bool:
    try:
        require_unwritable("VARIABLE", str(path), settings(folder))
    except BadSettings as error:
        return f"VARIABLE names {path}, which programs in the box could change" in str(error)
    return False


@pytest.mark.parametrize("give", [give_file, give_directory, give_group, give_everybody, give_everybody_the_directory])
def test_a_file_that_the_agent_s_user_may_write_or_replace_is_refused(trusted: Path, tmp_path: Path, give: Callable[[Path], None]) -> None:
    assert not refused(trusted, tmp_path)
    give(trusted)
    assert refused(trusted, tmp_path)


def test_a_directory_where_nobody_removes_what_is_others_is_as_good_as_root_s(trusted: Path, tmp_path: Path) -> None:
    trusted.parent.chmod(0o1777)
    assert not refused(trusted, tmp_path)


def test_a_file_in_the_workspace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file.json").write_text("{}")
    assert refused(tmp_path / "work" / "file.json", tmp_path)
    assert refused(tmp_path / "work" / "not" / "there.json", tmp_path)


def test_a_link_that_the_agent_could_turn_elsewhere_is_refused(trusted: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "file.json"
    link.symlink_to(trusted)
    assert not refused(link, tmp_path)
    os.chown(link.parent, AGENT, 0)
    assert refused(link, tmp_path)
    (tmp_path / "over").symlink_to(link)
    assert refused(tmp_path / "over", tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    assert not refused(tmp_path / "loop", tmp_path)


def test_what_is_mounted_is_shared_with_the_box_unless_it_is_below_run(
    trusted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trusted_files, "_mount_of", lambda path: str(tmp_path) if f"{path}/".startswith(f"{tmp_path}/") else "/")
    assert refused(trusted, tmp_path)
    monkeypatch.setattr(trusted_files, "BOXS_OWN", f"{tmp_path}/")
    assert not refused(trusted, tmp_path)


def test_a_read_only_mount_is_trusted_wherever_it_is(trusted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_directory(trusted)
    assert refused(trusted, tmp_path)
    monkeypatch.setattr(trusted_files, "_is_read_only", lambda path: path == str(trusted))
    assert not refused(trusted, tmp_path)
    link = tmp_path / "etc" / "link"
    link.symlink_to(trusted)
    assert refused(link, tmp_path)


@pytest.mark.parametrize(
    "environ",
    [
        {"JWT_JWKS_FILE": "PATH"},
        {"APPROVALS": "PATH"},
        {"HANDOFF_FILE": "PATH"},
        {"SECRETS": json.dumps({"A": {"source": {"file": "PATH"}, "bindings": [{"hosts": ["a.example"]}]}})},
    ],
)
def test_every_file_that_control_trusts_is_checked(trusted: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    made = settings(tmp_path, **{name: value.replace("PATH", str(trusted)) for name, value in environ.items()})
    check(made)
    give_directory(trusted)
    with pytest.raises(BadSettings, match="could change"):
        check(made)


def test_the_key_of_the_identity_is_checked() -> None:
    folder = Path("/run/tests-of-trusted-files")
    folder.mkdir()
    try:
        made = load({"IDENTITY_KEY_FILE": f"{folder}/key.pem", "IDENTITY_ISSUER": "https://issuer.example"})
        check(made)
        os.chown(folder, AGENT, 0)
        with pytest.raises(BadSettings, match="IDENTITY_KEY_FILE"):
            check(made)
    finally:
        folder.rmdir()


def test_rules_that_are_given_as_they_are_name_no_file(tmp_path: Path) -> None:
    check(settings(tmp_path, APPROVALS='{"rules": []}'))
