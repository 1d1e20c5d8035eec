"""The variables of folders, a section of `settings`. Stdlib only, for the sake of boot."""

import json
import posixpath
import re
from dataclasses import dataclass
from itertools import pairwise

from sandbox_server.settings.kinds import HTTP_URL, SECRET, TEXT, Kind, Secret, integer, seconds, variable

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
S3_ADDRESS = re.compile(r"s3://[a-z0-9][a-z0-9.-]{2,62}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,99}){0,10}")
ARCHIVE_ADDRESS = re.compile(r"https?://[A-Za-z0-9.\[\]:-]{1,253}/[A-Za-z0-9._~%/-]{1,1000}")
"""Without a user, a query and a fragment: whoever may see the folders sees it."""
ARCHIVE_NAMES = (".tar.gz", ".tgz")
MAX_FOLDERS = 20


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """A folder of the agent, and the store that it is synchronised with."""

    name: str
    path: str
    """Absolute path where the agent lives."""
    store: str
    """`directory`, `s3://BUCKET/PREFIX`, or the URL of a compressed tar archive."""


def _read_folders(text: str) -> tuple[FolderSettings, ...]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or len(given) > MAX_FOLDERS:
        raise ValueError(f"must be a JSON object of at most {MAX_FOLDERS} folders by name, each {{path, store}}")
    found = tuple(_folder(name, each) for name, each in given.items())
    paths = sorted(f"{folder.path}/" for folder in found)
    for outer, inner in pairwise(paths):
        if inner.startswith(outer):
            raise ValueError(f"has a folder within another: {inner.rstrip('/')}")
    stores = [folder.store for folder in found if folder.store != "directory"]
    if len(stores) != len(set(stores)):
        raise ValueError("has two folders with one store")
    return found


def _folder(name: str, given: object) -> FolderSettings:
    if not NAME.fullmatch(name):
        raise ValueError("must name folders by small letters, digits, '-' and '_', at most 63")
    if not isinstance(given, dict) or set(given) != {"path", "store"}:
        raise ValueError(f"must give the folder {name} a path and a store, and nothing else")
    path, store = given["path"], given["store"]
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path or posixpath.normpath(path) != path or path.strip("/") == "":
        raise ValueError(f"must give the folder {name} an absolute path without '..' that is not '/'")
    if not isinstance(store, str) or not _is_store(store):
        raise ValueError(f"must give the folder {name} the store 'directory', 's3://BUCKET/PREFIX' or 'https://HOST/PATH.tar.gz'")
    return FolderSettings(name, path, store.rstrip("/"))


def _is_store(text: str) -> bool:
    is_archive = ARCHIVE_ADDRESS.fullmatch(text) and text.endswith(ARCHIVE_NAMES)
    return bool(text == "directory" or S3_ADDRESS.fullmatch(text.rstrip("/")) or is_archive)


FOLDERS = Kind("JSON", _read_folders)


@dataclass(frozen=True, slots=True)
class FoldersSettings:
    """Folders that are synchronised with a store"""

    declared: tuple[FolderSettings, ...] = variable(
        "FOLDERS",
        FOLDERS,
        (),
        'Folders by name, as `{"notes": {"path": "/home/gem/notes", "store": "s3://bucket/notes"}}`; see [folders.md](folders.md).',
    )
    max_bytes: int = variable("FOLDERS_MAX_BYTES", integer(1, 1 << 40), 1 << 30, "Bytes of all files of one folder; more are refused.")
    max_files: int = variable("FOLDERS_MAX_FILES", integer(1, 50_000), 10_000, "Files of one folder; more are refused.")
    timeout: float = variable("FOLDERS_TIMEOUT_SECONDS", seconds(1, 3600), 300.0, "Seconds that one synchronisation may take.")
    end_timeout: float = variable(
        "FOLDERS_END_SECONDS", seconds(1, 3600), 30.0, "Seconds that all folders together may take while the container stops."
    )
    s3_endpoint: str | None = variable("FOLDERS_S3_ENDPOINT", HTTP_URL, None, "Address of the S3 server. Unset: that of AWS.")
    s3_region: str | None = variable("FOLDERS_S3_REGION", TEXT, None, "Its region. Unset: `us-east-1`.")
    s3_key: Secret | None = variable("FOLDERS_S3_ACCESS_KEY_ID", SECRET, None, "The access key for it.")
    s3_secret: Secret | None = variable("FOLDERS_S3_SECRET_ACCESS_KEY", SECRET, None, "The secret access key for it.")
    s3_session: Secret | None = variable("FOLDERS_S3_SESSION_TOKEN", SECRET, None, "The session token for it, if the key is temporary.")
    http_token: Secret | None = variable(
        "FOLDERS_HTTP_TOKEN", SECRET, None, "The token for archives over HTTP, sent as `Authorization: Bearer`. Unset: none is sent."
    )

    @property
    def problem(self) -> str | None:
        """What is missing, where the secrets are known; None if nothing is."""
        if any(folder.store.startswith("s3://") for folder in self.declared) and not (self.s3_key and self.s3_secret):
            return "FOLDERS has a store in S3, so FOLDERS_S3_ACCESS_KEY_ID and FOLDERS_S3_SECRET_ACCESS_KEY must be set"
        return None
