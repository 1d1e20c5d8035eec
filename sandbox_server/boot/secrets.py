"""Prepares bound secrets: the content of their file takes the place of its path, and every declaration is checked."""

import json
import os
from collections.abc import Mapping
from functools import partial
from secrets import token_urlsafe

from sandbox_server import settings as declared
from sandbox_server.boot import places, trusted_files
from sandbox_server.drivers.secrets.trust_files import TrustFiles
from sandbox_server.settings import BadSettings, Settings
from sandbox_server.settings.secrets import placeholder_of

VARIABLE = "SECRETS"
MAX_BYTES = 1 << 20


def with_declarations(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the declarations themselves in the place of the path to them. Raises BadSettings."""
    path = environ.get(VARIABLE, "").strip()
    return {**environ, VARIABLE: _content(path, declared.load(environ))} if path.startswith("/") else dict(environ)


def check(settings: Settings) -> None:
    """Raise BadSettings where a secret is declared in a way that cannot be used."""
    if settings.secrets.declarations is None:
        return
    from sandbox_server.drivers.secrets.definition import DefinitionError, check_distinct, read_definition  # slow imports

    found = []
    anything = partial(placeholder_of, key=token_urlsafe())  # the container's key is not made yet
    for name, each in settings.secrets.declared.items():
        try:
            found.append(read_definition(name, each, anything, declared=True))
        except DefinitionError as error:
            raise BadSettings(f"{VARIABLE} {name}: {error}") from None
    try:
        check_distinct(found)
    except DefinitionError as error:
        raise BadSettings(f"{VARIABLE} {error}") from None


def prepare(settings: Settings) -> None:
    """Make the directory by which programs in the box trust the sandbox's authority, which there is not yet."""
    owner = (os.geteuid(), settings.users.control_uid)  # what is not root's is the agent's own in the box
    places.make_directory(settings.paths.trust, 0o775, owner)
    TrustFiles(settings.paths.trust).trust(None)


def _content(path: str, settings: Settings) -> str:
    """Read the file of the declarations, which nothing in the box may be able to write."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES or not isinstance(json.loads(text), dict):
            raise BadSettings(f"{VARIABLE} names {path}, which holds no JSON object of at most {MAX_BYTES} characters")
    except OSError as error:
        raise BadSettings(f"{VARIABLE} names {path}, which cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadSettings(f"{VARIABLE} names {path}, which is not JSON in UTF-8") from None
    trusted_files.require_unwritable(VARIABLE, path, settings)
    return text.strip()
