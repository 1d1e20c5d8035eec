"""Which extended attributes of a file belong to a checkpoint.

What the agent can set in its box is the agent's: `user.*`, a file's capabilities, which the kernel binds to the box's user namespace as
root in the box sets them, and access lists. Of overlayfs's own marks one counts: that a directory hides what is below. Its others tell
of the files of one machine.
"""

OPAQUE = ("user.overlay.opaque", b"y")
MAX_VALUE = 64 << 10
"""Bytes; the kernel takes no more (XATTR_SIZE_MAX)."""
MAX_NAME = 255
_MARKS = "user.overlay."
_ALLOWED = ("security.capability", "system.posix_acl_access", "system.posix_acl_default")
_MAX_CAPABILITY = 24
"""Bytes of a file's capabilities in their newest form (capabilities(7))."""
_LEFT_OUT = ("security.selinux", "security.SMACK64", "security.ima", "security.evm")
"""What a security module of the host writes on every file; it does so again."""


def is_kept(name: str, value: bytes) -> bool:
    """Whether an attribute goes out, and comes in."""
    if name.startswith(_MARKS):
        return (name, value) == OPAQUE
    if len(name) > MAX_NAME or len(value) > MAX_VALUE:
        return False
    if name == "security.capability":
        return len(value) <= _MAX_CAPABILITY
    return name.startswith("user.") or name in _ALLOWED


def is_left_out(name: str) -> bool:
    """Whether an attribute that is not kept may be in an archive all the same: an older version wrote it."""
    return name.startswith((_MARKS, *_LEFT_OUT))
