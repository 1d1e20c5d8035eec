"""What one viewer knows of the desktop's clipboard, so that nothing comes back to who copied it."""

from collections.abc import Mapping

from sandbox_server.drivers.x11.clipboard import HTML, TEXT
from sandbox_server.stream import wire
from sandbox_server.stream.input.injector import Input


class ClipboardSync:
    """The clipboard as one viewer has it."""

    def __init__(self) -> None:
        self._known: Mapping[str, bytes] = {}

    def learn(self, what: Input) -> None:
        """Note what the viewer itself puts on the clipboard, if this does."""
        match what:
            case wire.Copied():
                self._known = {TEXT: what.text.encode()}
            case wire.Clip():
                self._known = what.forms

    def message_for(self, forms: Mapping[str, bytes]) -> bytes:
        """The message that tells what is on the clipboard; empty if the viewer knows it or it is too large."""
        fits = _fitting(forms)
        if not fits or fits == self._known:
            return b""
        self._known = fits
        return wire.clipboard(fits[TEXT].decode()) if fits.keys() == {TEXT} else wire.clip(fits)


def _fitting(forms: Mapping[str, bytes]) -> dict[str, bytes]:
    """The forms that fit in a message; the text above all, then a picture."""
    found = {form: value for form, value in forms.items() if form == TEXT and len(value) <= wire.MAX_TEXT}
    for form in sorted(forms.keys() - {TEXT}, key=lambda form: form == HTML):
        if sum(map(len, found.values())) + len(forms[form]) <= wire.MAX_CLIP:
            found[form] = forms[form]
    return found
