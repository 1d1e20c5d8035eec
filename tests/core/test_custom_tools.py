import os
from pathlib import Path

import pytest

from sandbox_server.core.custom_tools import load_features
from sandbox_server.core.operation import operations

FEATURE = '''
from sandbox_server.core import Model, operation


class EchoRequest(Model):
    text: str


class Echo:
    tag = "echo"

    @operation("POST /v1/echo", scope="code")
    async def echo(self, request: EchoRequest) -> str:
        """Give the text back."""
        return request.text


class NotAFeature:
    pass
'''


def test_a_class_with_operations_becomes_a_feature(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(FEATURE)

    [feature] = load_features(str(tmp_path))

    assert [op.name for op in operations(feature)] == ["echo.echo"]


def test_no_directory_means_no_tools(tmp_path: Path) -> None:
    assert load_features(f"{tmp_path}/missing") == []


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "echo.py"
    path.write_text(FEATURE)
    path.chmod(0o666)

    with pytest.raises(PermissionError, match="writable by root only"):
        load_features(str(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "echo.py"
    path.write_text(FEATURE)
    os.chown(path, 1000, 1000)

    with pytest.raises(PermissionError):
        load_features(str(tmp_path))


def test_a_file_with_an_error_stops_the_start_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('broken tool')")

    with pytest.raises(RuntimeError, match="broken tool"):
        load_features(str(tmp_path))
