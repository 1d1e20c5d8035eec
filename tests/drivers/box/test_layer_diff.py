from tests.boxes import BoxDaemons

CHANGES = """
echo longer > /home/gem/old; echo new > /home/gem/new; rm /etc/debian_version; mkdir -p /made/deep; touch /made/deep/file
rm -r /usr/share/common-licenses; mkdir /usr/share/common-licenses; ln -s nowhere /home/gem/link
"""


def differences(box: BoxDaemons, **request: object) -> dict[str, tuple[str, int | None, int | None]]:
    found = box.ask("diff", limit=1000, **request)["differences"]
    return {one["path"]: (one["change"], one["before"], one["after"]) for one in found}


def test_a_difference_says_what_was_added_changed_and_deleted_with_sizes(box: BoxDaemons) -> None:
    box.out("echo old > /home/gem/old")
    box.ask("checkpoint", label="", who="me")
    box.out(CHANGES)
    found = differences(box)
    assert found["/home/gem/old"] == ("changed", 4, 7)
    assert found["/home/gem/new"] == ("added", None, 4)
    assert found["/etc/debian_version"][0] == "deleted"
    assert found["/made/deep/file"] == ("added", None, 0)
    assert found["/home/gem/link"] == ("added", None, len("nowhere"))
    assert "/home/gem" not in found
    assert "/usr" not in found


def test_differences_add_up_over_several_checkpoints(box: BoxDaemons) -> None:
    box.out("touch /home/gem/a /home/gem/b")
    first = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    box.out("rm /home/gem/a; echo x > /home/gem/b")
    second = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    box.out("rm /home/gem/b; touch /home/gem/c")
    assert differences(box, checkpoint=second) == {"/home/gem/a": ("deleted", 0, None), "/home/gem/b": ("changed", 0, 2)}
    assert differences(box, against=first).keys() == {"/home/gem/a", "/home/gem/b", "/home/gem/c"}
    assert differences(box, against="image") == {"/home/gem/c": ("added", None, 0)}


def test_only_ancestors_can_be_compared_with(box: BoxDaemons) -> None:
    first = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    box.ask("restore", checkpoint=None, who="me")
    assert box.answer("diff", against=first, limit=10)["refused"] == "conflict"


def test_a_long_list_is_cut_and_says_so(box: BoxDaemons) -> None:
    box.out("touch /home/gem/{1..20}")
    found = box.ask("diff", limit=5)
    assert (len(found["differences"]), found["truncated"]) == (5, True)


def test_a_link_in_a_layer_is_not_followed(box: BoxDaemons) -> None:
    box.out("rm -r /usr/share/common-licenses; ln -s /etc /usr/share/common-licenses; ln -s / /home/gem/root")
    found = differences(box)
    assert [path for path in found if path.startswith("/home/gem/root")] == ["/home/gem/root"]
    assert found["/usr/share/common-licenses"][0] == "changed"


def test_usage_counts_files_and_their_room_on_the_disk(box: BoxDaemons) -> None:
    box.out("head -c 1000000 /dev/urandom > /home/gem/million; sync")
    made = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    assert box.ask("usage")["bytes"] >= 1_000_000
    record = next(one for one in box.ask("list")["checkpoints"] if one["id"] == made)
    assert record["files"] == 1
