"""Names of profiles. Standard library only."""

import re

DEFAULT = "default"
"""The profile that lives and ends with the container."""
NAME_PATTERN = "[a-z0-9][a-z0-9_-]{0,62}"
_NAME = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Whether a profile can have this name: small letters, digits, `-` and `_`, at most 63."""
    return _NAME.fullmatch(text) is not None


def profile_folder(root: str, default: str, name: str) -> str:
    """Return Chromium's user data directory of a profile: `default` of the profile of that name, else below `root`."""
    return default if name == DEFAULT else f"{root}/{name}/chromium"
