from sandbox_server.drivers.box.diff_tree import MAX_ENTRIES, TreeEntry, level, page
from sandbox_server.drivers.box.layer_diff import LayerDifference
from tests.boxes import BoxDaemons

FOUND = [
    LayerDifference("/a", "added", None, 0),
    LayerDifference("/a/x", "added", None, 5),
    LayerDifference("/b/c/d", "changed", 2, 3),
    LayerDifference("/b/e", "deleted", 7, None),
    LayerDifference("/bb", "deleted", 1, None),
]


def test_a_level_sums_up_what_is_below_each_name() -> None:
    assert level(FOUND, "/") == [
        TreeEntry("a", "added", added=2, after=5),
        TreeEntry("b", None, changed=1, deleted=1, before=9, after=3),
        TreeEntry("bb", "deleted", deleted=1, before=1),
    ]
    assert [entry.name for entry in level(FOUND, "b/")] == ["c", "e"]
    assert level(FOUND, "/nowhere") == []


def test_a_page_begins_behind_a_name_and_says_whether_there_is_more() -> None:
    entries = [TreeEntry(f"{number:04}") for number in range(MAX_ENTRIES + 5)]
    first, more = page(entries, "", 10)
    assert ([one.name for one in first][-1], more) == ("0009", True)
    assert page(entries, first[-1].name, 10)[0][0].name == "0010"
    assert len(page(entries, "", 10**9)[0]) == MAX_ENTRIES
    assert page(entries, entries[-1].name, 10) == ([], False)


def test_the_daemon_gives_a_level_of_the_tree(box: BoxDaemons) -> None:
    box.out("mkdir /home/gem/d; echo 1 > /home/gem/d/f; echo 22 > /home/gem/d/g; rm /etc/debian_version")
    told = box.ask("tree", under="/", after="", limit=100)
    assert ([one["name"] for one in told["entries"]], told["more"]) == (["etc", "home"], False)
    [inner] = box.ask("tree", under="/home/gem", after="", limit=100)["entries"]
    assert (inner["name"], inner["change"], inner["added"], inner["after"]) == ("d", "added", 3, 5)
