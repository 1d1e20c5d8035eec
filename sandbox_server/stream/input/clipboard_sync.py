"""Clipboard sync with one viewer, without an echo: what the viewer copied itself is not sent back."""

from collections.abc import Mapping

from sandbox_server.drivers.x11.clipboard import HTML, TEXT
from sandbox_server.stream import wire
from sandbox_server.stream.input.injector import Input


class ClipboardSync:
    """Knows what one viewer has on its clipboard."""

    def __init__(self) -> None:
        self._known: Mapping[str, bytes] = {}

    def learn(self, what: Input) -> None:
        """Note what the viewer puts on the clipboard, if this input does."""
        match what:
            case wire.Copied():
                self._known = {TEXT: what.text.encode()}
            case wire.Clip():
                self._known = what.forms

    def message_for(self, forms: Mapping[str, bytes]) -> bytes:
        """The message with what is on the desktop's clipboard; empty if the viewer has it, or it is too large."""
        fits = _fitting(forms)
        if not fits or fits == self._known:
            return b""
        self._known = fits
        return wire.clipboard(fits[TEXT].decode()) if fits.keys() == {TEXT} else wire.clip(fits)


def _fitting(forms: Mapping[str, bytes]) -> dict[str, bytes]:
    """The formats that fit in a message: text first, then a picture."""
    found = {form: value for form, value in forms.items() if form == TEXT and len(value) <= wire.MAX_TEXT}
    for form in sorted(forms.keys() - {TEXT}, key=lambda form: form == HTML):
        if sum(map(len, found.values())) + len(forms[form]) <= wire.MAX_CLIP:
            found[form] = forms[form]
    return found
