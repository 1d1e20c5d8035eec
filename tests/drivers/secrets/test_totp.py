import base64

import pytest

from sandbox_server.drivers.secrets.totp import TotpKeyError, read_key

ASCII = b"12345678901234567890"


@pytest.mark.parametrize(
    ("at", "digest", "length", "code"),
    [
        (59, "SHA1", 20, "94287082"),
        (59, "SHA256", 32, "46119246"),
        (59, "SHA512", 64, "90693936"),
        (1111111109, "SHA1", 20, "07081804"),
        (20000000000, "SHA1", 20, "65353130"),
    ],
)
def test_codes_are_those_of_the_rfc(at: int, digest: str, length: int, code: str) -> None:
    key = base64.b32encode((ASCII * 4)[:length]).decode().rstrip("=")
    assert read_key(f"otpauth://totp/a?secret={key}&digits=8&algorithm={digest}").code(at) == code


def test_a_key_may_be_written_in_groups() -> None:
    plain = base64.b32encode(ASCII).decode()
    groups = " ".join(plain[at : at + 4] for at in range(0, len(plain), 4)).lower()
    assert read_key(groups) == read_key(plain)
    assert read_key(plain).code(59) == "287082"
    assert read_key(plain).seconds_left(59) == 1


@pytest.mark.parametrize(
    "text", ["", "not base32!", "otpauth://hotp/a?secret=AAAA", "otpauth://totp/a", "otpauth://totp/a?secret=AAAA&digits=40"]
)
def test_what_is_no_key_is_said_without_repeating_it(text: str) -> None:
    with pytest.raises(TotpKeyError) as refused:
        read_key(text)
    assert not text or text not in str(refused.value)
