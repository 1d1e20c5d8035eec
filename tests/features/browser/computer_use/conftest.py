"""Actions on the screen, as the tests of all vendors write them."""

from collections.abc import Sequence

from sandbox_server.features.browser.gui_actions import AnyAction


def written(actions: Sequence[AnyAction]) -> list[str]:
    """Each as a line: its type and its values."""
    return [
        " ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in action.model_dump().values()) for action in actions
    ]
