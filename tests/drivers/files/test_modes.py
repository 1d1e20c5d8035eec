import pytest

from sandbox_server.drivers.files.modes import change_mode
from sandbox_server.drivers.files.worker_errors import FileRefused
from tests.tables import table_test

FILE, DIRECTORY = 0o100000, 0o040000


@table_test(
    [
        (0o644, "755", 0o755),
        (0o644, "0600", 0o600),
        (0o644, "+x", 0o755),
        (0o644, "u+x", 0o744),
        (0o755, "go-rx", 0o700),
        (0o777, "u=rw,go=r", 0o644),
        (0o644, "a+w", 0o666),
        (0o644, "u+x-w", 0o544),
        (0o755, "o=", 0o750),
        (0o644, "a+X", 0o644),
        (0o744, "a+X", 0o755),
        (0o755, "g+s", 0o2755),
    ]
)
def test_a_mode_means_what_chmod_makes_of_it(before: int, wanted: str, after: int) -> None:
    assert oct(change_mode(FILE | before, wanted)) == oct(after)


def test_a_capital_x_makes_a_directory_searchable() -> None:
    assert change_mode(DIRECTORY | 0o644, "a+X") == 0o755


@pytest.mark.parametrize("wanted", ["", "rwxr-xr-x", "999", "u*x", "u+x,", "07777777"])
def test_what_is_no_mode_is_refused(wanted: str) -> None:
    with pytest.raises(FileRefused, match="is not a mode"):
        change_mode(FILE | 0o644, wanted)
