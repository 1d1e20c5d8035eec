import pytest

from sandbox_server.drivers.egress import aws_signature
from sandbox_server.drivers.egress.secret_injection import InjectionRefused

KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
PREFIX = b"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature="


def fields(signature: str) -> list[tuple[bytes, bytes]]:
    """The request of AWS's published test suite."""
    return [(b"Host", b"example.amazonaws.com"), (b"X-Amz-Date", b"20150830T123600Z"), (b"Authorization", PREFIX + signature.encode())]


@pytest.mark.parametrize(
    ("method", "target", "signature"),
    [
        ("GET", b"/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", b"/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        ("GET", b"/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
    ],
)
def test_it_signs_as_aws_does(method: str, target: bytes, signature: str) -> None:
    signed = aws_signature.authorization(fields("0" * 64))
    assert signed
    assert aws_signature.sign(KEY, method, target, fields("0" * 64), signed, EMPTY) == signature
    told = aws_signature.with_signature(fields("0" * 64), signed, signature)
    right = aws_signature.authorization(told)
    assert right
    assert aws_signature.signed_with(KEY, method, target, told, right, EMPTY)
    assert not aws_signature.signed_with("other", method, target, told, right, EMPTY)


def test_a_path_is_encoded_twice_but_for_s3() -> None:
    assert aws_signature._canonical_path("/a%20b/c", "execute-api") == "/a%2520b/c"
    assert aws_signature._canonical_path("/a%20b/c", "s3") == "/a%20b/c"


@pytest.mark.parametrize("value", [b"Bearer x", b"AWS4-HMAC-SHA256 Credential=x, Signature=y", PREFIX + b"z" * 64])
def test_what_is_no_signature_is_left_alone(value: bytes) -> None:
    assert aws_signature.authorization([(b"Authorization", value)]) is None
    assert aws_signature.authorization([(b"Authorization", value)] * 2) is None


def test_signed_chunks_are_refused() -> None:
    with pytest.raises(InjectionRefused, match="one by one"):
        aws_signature.payload_hash([(b"x-amz-content-sha256", b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD")])
    assert aws_signature.payload_hash([(b"X-Amz-Content-SHA256", b"UNSIGNED-PAYLOAD")]) == "UNSIGNED-PAYLOAD"
