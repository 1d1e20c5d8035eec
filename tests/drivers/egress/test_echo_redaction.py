import base64
import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress.echo_redaction import EchoRedactor
from tests.tables import table_test

VALUE = 'p"w/é+<secret>'


@table_test(
    [
        VALUE.encode(),
        quote(VALUE, safe="").encode(),
        json.dumps(VALUE)[1:-1].encode(),
        json.dumps(VALUE, ensure_ascii=False)[1:-1].encode(),
        VALUE.encode().hex().encode(),
        *[base64.b64encode(b"x" * before + VALUE.encode() + b"y" * after) for before in range(3) for after in range(3)],
        base64.urlsafe_b64encode(VALUE.encode()),
    ]
)
def test_it_is_found_however_it_is_written(written: bytes) -> None:
    redactor = EchoRedactor([VALUE])
    said = redactor.feed(b"a" + written + b"z") + redactor.flush()
    assert len(said) == len(written) + 2
    assert b"*" * 6 in said
    assert redactor.found


@given(st.lists(st.binary(max_size=12)), st.integers(0, 20))
def test_pieces_never_show_a_value_and_change_nothing_else(around: list[bytes], at: int) -> None:
    content = b"".join([*around[:at], b"s3cretvalue", *around[at:]])
    redactor = EchoRedactor(["s3cretvalue"])
    said = b"".join(redactor.feed(bytes([one])) for one in content) + redactor.flush()
    assert said == EchoRedactor(["s3cretvalue"]).whole(content)
    assert b"s3cretvalue" not in said
    assert len(said) == len(content)


def test_only_what_may_begin_a_value_is_held_back() -> None:
    redactor = EchoRedactor(["s3cretvalue"])
    assert redactor.feed(b"data: x\n\n") == b"data: x\n\n"
    assert redactor.feed(b"data: s3cr") == b"data: "
    assert redactor.feed(b"ab") == b"s3crab"


def test_without_values_nothing_is_looked_at() -> None:
    redactor = EchoRedactor([])
    assert not redactor.active
    assert redactor.feed(b"x") == b"x"
