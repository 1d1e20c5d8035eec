import json

import pytest

from sandbox_server import settings as declared
from sandbox_server.settings import BadSettings, FolderSettings
from tests.tables import table_test


def environ(**entries: object) -> dict[str, str]:
    return {"FOLDERS": json.dumps(entries), "FOLDERS_S3_SECRET_ACCESS_KEY": "hidden"}


def test_folders_are_read_with_their_stores() -> None:
    stores = {"notes": "directory", "data": "s3://bucket/a/b/", "work": "https://host.example:8443/a/work.tar.gz"}
    given = environ(**{name: {"path": f"/home/gem/{name}", "store": store} for name, store in stores.items()})
    assert declared.load(given).folders.declared == (
        FolderSettings("notes", "/home/gem/notes", "directory"),
        FolderSettings("data", "/home/gem/data", "s3://bucket/a/b"),
        FolderSettings("work", "/home/gem/work", "https://host.example:8443/a/work.tar.gz"),
    )


@table_test(
    [
        {"A": {"path": "/a", "store": "directory"}},
        {"a": {"path": "a", "store": "directory"}},
        {"a": {"path": "/", "store": "directory"}},
        {"a": {"path": "/a/../b", "store": "directory"}},
        {"a": {"path": "/a", "store": "ftp://x"}},
        {"a": {"path": "/a", "store": "s3://bucket/../x"}},
        {"a": {"path": "/a", "store": "https://host/a.zip"}},
        {"a": {"path": "/a", "store": "https://user:word@host/a.tar.gz"}},
        {"a": {"path": "/a", "store": "https://host/a.tar.gz?signature=x"}},
        {"a": {"path": "/a"}},
        {"a": {"path": "/a", "store": "directory"}, "b": {"path": "/a/b", "store": "directory"}},
        {"a": {"path": "/a", "store": "s3://bucket"}, "b": {"path": "/b", "store": "s3://bucket"}},
    ]
)
def test_what_cannot_be_a_folder_names_the_variable(entries: dict[str, object]) -> None:
    with pytest.raises(BadSettings, match="FOLDERS "):
        declared.load(environ(**entries))


def test_a_bucket_without_credentials_is_a_problem_for_who_knows_the_secrets() -> None:
    found = declared.load(environ(a={"path": "/a", "store": "s3://bucket"})).folders
    assert found.problem is not None
    assert "FOLDERS_S3_ACCESS_KEY_ID" in found.problem
    assert declared.load(environ(a={"path": "/a", "store": "directory"})).folders.problem is None


def test_the_agent_gets_none_of_it() -> None:
    given = environ(a={"path": "/a", "store": "directory"})
    assert not [name for name in declared.agent_environ(given, declared.load(given)) if name.startswith("FOLDERS")]
