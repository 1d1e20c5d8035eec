"""The effects of shell lines."""

import pytest

from sandbox_server.drivers.shells.command_effects import acts_of
from tests.tables import table_test


def effects(line: str, directory: str | None = "/home/gem/work") -> set[str]:
    return {effect for act in acts_of(line, "/home/gem/work", "/home/gem", directory) for effect in act.effects}


@table_test(
    [
        "apt-get install -y curl",
        "sudo apt -y install curl",
        "pip install six",
        "pip3.13 --quiet install six",
        "python3 -m pip install six",
        "uv pip install six",
        "npm i left-pad",
        "npm --prefix x ci",
        "npx cowsay",
        "dpkg -i x.deb",
        "cargo install x",
        "sh -c 'true && pip install x'",
        "pip $X six",
    ]
)
def test_packages_are_installed(line: str) -> None:
    assert "installs_packages" in effects(line)


@pytest.mark.parametrize("line", ["pip list", "npm test", "apt-cache search x", "echo pip install", "go build ./..."])
def test_no_packages_are_installed(line: str) -> None:
    assert effects(line) == set()


@table_test(
    [
        "rm -rf /",
        "rm -rf ~",
        "rm -fr ~/other",
        "rm --recursive /etc",
        "rm -r -f ../x",
        "rm -rf /home/gem/work/../x",
        "rm -rf $X",
        "rm -rf -- /etc",
        "cd / && rm -rf etc",
        "cd .. ; rm -rf x",
        "cd $X; rm -rf x",
        "rm -rf a /etc b",
        "rm -rf work*/../../x",
        "find / -name x -delete",
        "sudo rm -R /etc",
        "find /etc -exec rm -rf {} +",
        "ls | xargs rm -rf",
        "rm $FLAGS /etc",
        "rm -rf /home/gem/workspace",
    ]
)
def test_something_outside_of_the_workspace_is_deleted(line: str) -> None:
    assert "deletes_outside_workspace" in effects(line)


@pytest.mark.parametrize(
    "line", ["rm -rf build", "rm -rf ./a/../b *.o", "rm /etc/x", "cd /home/gem/work/a && rm -rf ../b", "find . -delete"]
)
def test_only_what_is_in_the_workspace_is_deleted(line: str) -> None:
    assert effects(line) == set()


def test_from_an_unknown_directory_everything_may_be_outside() -> None:
    assert effects("rm -rf build", None) == {"deletes_outside_workspace"}


@pytest.mark.parametrize("line", ["git -c alias.x=push x", "git $X", "$X"])
def test_what_git_does_is_unclear_where_its_words_may_change(line: str) -> None:
    assert effects(line) == {"unclear"}


def test_a_commands_text_is_without_gits_options_and_its_name_without_a_directory() -> None:
    (act,) = acts_of("/usr/bin/git -C /x -c a.b=c --no-pager push --force", "/w", "/h", None)
    assert (act.text, act.by_name) == ("/usr/bin/git push --force", "git push --force")
