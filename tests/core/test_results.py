from sandbox_server.core.results import ALL_SCOPES, Caller


def test_a_caller_may_what_its_scopes_name_and_nothing_else() -> None:
    viewer = Caller("ann", frozenset({"view"}))

    assert viewer.may("view")
    assert not viewer.may("shell")


def test_a_caller_without_named_scopes_has_them_all() -> None:
    assert all(Caller("ann").may(scope) for scope in ALL_SCOPES)
