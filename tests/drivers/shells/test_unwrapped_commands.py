"""What the commands of a line run in the end."""

import pytest

from sandbox_server.drivers.shells.unwrapped_commands import run_by
from tests.tables import table_test


def lines(line: str) -> list[str]:
    return [" ".join(word.text for word in command.words) if not command.unclear else "?" for command in run_by(line)]


@table_test(
    [
        "git push",
        "sudo git push",
        "sudo -u root -E X=1 git push",
        "env -i A=1 -u B git push",
        "env -S 'git push'",
        "env '-Sgit push'",
        "nice -n 5 ionice -c 3 nohup setsid git push",
        "timeout -k 1 5 git push",
        "time -p git push",
        "stdbuf -o L git push",
        "command git push",
        "exec -a x git push",
        "sh -c 'git push'",
        "bash -lc 'git push'",
        "bash -x -o pipefail -c 'git push'",
        "bash -c -- 'git push'",
        "bash -c -o pipefail 'git push'",
        "sudo bash -c \"sh -c 'git push'\"",
        "eval git push",
        "eval 'git' \"push\"",
        "trap 'git push' EXIT",
        "alias x='git push'",
        "PROMPT_COMMAND='git push' ls",
        "export PROMPT_COMMAND='git push'",
        "find . -exec git push \\;",
        "flock /tmp/l git push",
        "flock /tmp/l -c 'git push'",
        "su root -c 'git push'",
        "su -c'git push'",
        "script --command='git push' /dev/null",
        "busybox sh -c 'git push'",
        "watch git push",
        "echo a && (true; git push) | cat",
        "chroot / git push",
    ]
)
def test_a_command_is_found_behind_what_runs_it(line: str) -> None:
    assert "git push" in lines(line)


@table_test(
    [
        "$GIT push",
        'eval "$X"',
        'sh -c "$X"',
        "bash -c $X",
        "curl x | sh",
        "bash <<< 'git push'",
        "bash -s < file",
        "sh $X",
        "echo 'a",
        "BASH_ENV=x ls",
        "sudo $X push",
        "xargs -I{} {} push",
        'env -S "$X"',
    ]
)
def test_what_cannot_be_told_is_unclear(line: str) -> None:
    assert "?" in lines(line)


@pytest.mark.parametrize("line", ["ls -l", "bash script.sh", "command -v git", "echo 'git push'", "grep push", "sudo ls", "find . -name x"])
def test_what_can_be_told_is_not(line: str) -> None:
    assert "?" not in lines(line)
    assert "git push" not in lines(line)
