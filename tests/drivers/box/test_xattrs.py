import pytest

from sandbox_server.drivers.box.xattrs import MAX_VALUE, is_kept, is_left_out


@pytest.mark.parametrize(
    ("name", "value"),
    [("user.overlay.opaque", b"y"), ("user.mine", b""), ("security.capability", b"x" * 24), ("system.posix_acl_access", b"x")],
)
def test_what_the_agent_can_set_belongs_to_a_checkpoint(name: str, value: bytes) -> None:
    assert is_kept(name, value)


@pytest.mark.parametrize("name", ["user.overlay.redirect", "user.overlay.metacopy", "user.overlay.origin", "user.overlay.overlay.opaque"])
def test_a_mark_of_overlayfs_is_left_out(name: str) -> None:
    assert not is_kept(name, b"y")
    assert is_left_out(name)
    assert not is_kept("user.overlay.opaque", b"x")


@pytest.mark.parametrize("name", ["trusted.overlay.opaque", "trusted.x", "security.apparmor", "system.data", "x", ""])
def test_nothing_else_belongs_to_one(name: str) -> None:
    assert not is_kept(name, b"y")
    assert not is_left_out(name)


def test_values_have_an_end() -> None:
    assert not is_kept("user.x", b"x" * (MAX_VALUE + 1))
    assert not is_kept("security.capability", b"x" * 25)
