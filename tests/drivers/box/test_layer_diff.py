from pathlib import Path

from sandbox_server.drivers.box.layer_diff import DirectorySizes, LayeredView
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


def test_a_directory_that_was_deleted_has_the_bytes_of_what_was_in_it(box: BoxDaemons) -> None:
    box.out("mkdir -p /home/gem/site/img; head -c 1000 /dev/zero > /home/gem/site/img/a; head -c 200 /dev/zero > /home/gem/site/b")
    box.ask("checkpoint", label="", who="me")
    box.out("head -c 30 /dev/zero > /home/gem/site/img/c; head -c 4 /dev/zero > /home/gem/site/b; ln -s /etc /home/gem/site/link")
    box.ask("checkpoint", label="", who="me")
    box.out("rm -r /home/gem/site/img; mkdir /home/gem/site/img; head -c 500 /dev/zero > /home/gem/site/img/d; rm /home/gem/site/link")
    box.ask("checkpoint", label="", who="me")
    licences = int(box.out("find /usr/share/common-licenses ! -type d -printf '%s\n' | awk '{s += $1} END {print s}'"))
    box.out("rm -r /home/gem/site /usr/share/common-licenses")
    assert differences(box) == {"/home/gem/site": ("deleted", 504, None), "/usr/share/common-licenses": ("deleted", licences, None)}


def test_the_bytes_of_very_many_deleted_files_are_counted_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(20):
        (tmp_path / "many" / str(number)).write_bytes(b"x")
    view = LayeredView([str(tmp_path)], [])
    assert DirectorySizes(view).size("/many") == 20
    assert DirectorySizes(view, left=5).size("/many") == 5


def test_states_on_different_branches_can_be_compared(box: BoxDaemons) -> None:
    box.out("mkdir /home/gem/folder; touch /home/gem/folder/a /home/gem/folder/b; echo 1 > /home/gem/both")
    first = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    box.ask("restore", checkpoint=None, who="me")
    box.out("echo 22 > /home/gem/both")
    assert differences(box, against=first) == {"/home/gem/both": ("changed", 2, 3), "/home/gem/folder": ("deleted", 0, None)}


def test_the_box_is_compared_with_a_checkpoint_that_was_made_while_it_ran(box: BoxDaemons) -> None:
    box.out("echo 1 > /home/gem/kept; touch /home/gem/gone")
    made = box.ask("checkpoint", label="", who="me", mode="live")["checkpoint"]["id"]
    assert differences(box) == {}
    box.out("echo 22 > /home/gem/kept; rm /home/gem/gone")
    assert differences(box) == {"/home/gem/kept": ("changed", 2, 3), "/home/gem/gone": ("deleted", 0, None)}
    assert differences(box, checkpoint=made).keys() == {"/home/gem/kept", "/home/gem/gone"}


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
