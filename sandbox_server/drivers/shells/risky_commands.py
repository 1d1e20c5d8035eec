"""Which commands are risky: those that remove directories, install system packages, or throw away what git has not kept.

A guess, for checkpoints that are made before such a command: it sees the command as it is written, not what it runs.
"""

from sandbox_server import patterns

_WORD = r"(?:^|[\s;&|({`])(?:sudo\s+(?:-\S+\s+)*)?"
_RISKY = patterns.compile(
    _WORD
    + r"(?:"
    + "|".join(
        (
            r"rm\s+(?:\S+\s+)*-\w*[rR]",
            r"rm\s+(?:\S+\s+)*--recursive",
            r"(?:apt|apt-get|aptitude)\s+(?:\S+\s+)*(?:install|remove|purge|upgrade|full-upgrade|dist-upgrade|autoremove)\b",
            r"dpkg\s+(?:\S+\s+)*(?:-i|-r|-P|--install|--remove|--purge)\b",
            r"find\s.*-delete\b",
            r"git\s+(?:\S+\s+)*(?:reset\s+(?:\S+\s+)*--hard|clean\s+(?:\S+\s+)*-\w*f)",
            r"rsync\s.*--delete",
            r"shred\s",
        )
    )
    + r")"
)


def is_risky(command: str) -> bool:
    """Whether a shell command looks as if it could destroy more than it is meant to."""
    return _RISKY.search(command) is not None
