"""Text of an untrusted author, made visible."""

import pytest

from sandbox_server.core.visible_text import visible


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("git push origin main", "git push origin main"),
        ("git push\n\trm -rf /", "git push↵⇥rm -rf /"),
        ("safe\u202etxt.exe", "safe⟨U+202E⟩txt.exe"),
        ("a\u200bb\u2060c\ufeffd", "a⟨U+200B⟩b⟨U+2060⟩c⟨U+FEFF⟩d"),
        ("a\rb\x1b[2Kc\x00", "a⟨U+000D⟩b⟨U+001B⟩[2Kc⟨U+0000⟩"),
        ("a\u00a0b\u3000c\u2028d", "a⟨U+00A0⟩b⟨U+3000⟩c⟨U+2028⟩d"),
        ("a\u3164b\u2800c\ufe0fd\U000e0041", "a⟨U+3164⟩b⟨U+2800⟩c⟨U+FE0F⟩d⟨U+E0041⟩"),
        ("Größe 大小 é e\u0301", "Größe 大小 é e\u0301"),
        ("\ud800", "⟨U+D800⟩"),
    ],
)
def test_what_hides_or_turns_text_is_written_out(written: str, seen: str) -> None:
    assert visible(written) == seen


def test_marks_that_pile_up_are_written_out() -> None:
    assert visible("e" + "\u0301" * 4) == "e" + "\u0301" * 3 + "⟨U+0301⟩"
