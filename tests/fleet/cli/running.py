"""A command, as the command line calls it."""

from tandem_fleet.cli import main
from tandem_fleet.settings import Settings


async def run(settings: Settings, *words: str) -> int:
    """The command's exit code."""
    options = main.parser().parse_args(words)
    return int(await options.run(options, settings))
