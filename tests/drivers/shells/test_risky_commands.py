import pytest

from sandbox_server.drivers.shells.risky_commands import is_risky
from tests.tables import table_test


@table_test(
    [
        "rm -rf build",
        "cd /x && rm -r y",
        "rm --recursive x",
        "sudo rm -f -r /etc/x",
        "sudo apt-get -y install figlet",
        "apt upgrade",
        "sudo -E dpkg -i x.deb",
        "find . -name '*.pyc' -delete",
        "git -C repo reset --hard HEAD~3",
        "git clean -xdf",
        "true; rsync -a --delete a/ b/",
        "(rm -Rf x)",
    ]
)
def test_what_destroys_more_than_a_file_is_risky(command: str) -> None:
    assert is_risky(command)


@pytest.mark.parametrize(
    "command",
    ["rm file", "ls -r", "echo form -r", "apt-get update", "git reset HEAD x", "git clone -r x", "pip install x", "grep -r rm .", ""],
)
def test_what_is_meant_or_harmless_is_not(command: str) -> None:
    assert not is_risky(command)
