"""`scripts/share` makes a package that another tree has file for file a link to it there, and leaves one that differs."""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "share"


def test_a_package_that_is_equal_becomes_a_link_and_another_stays(tmp_path: Path) -> None:
    tree, first, second = (tmp_path / name for name in ("tree", "first", "second"))
    for root, packages in ((tree, "abcd"), (first, "ab"), (second, "bc")):
        for package in packages:
            (root / package / "__pycache__").mkdir(parents=True)
            (root / package / "code.py").write_text(package)
            (root / package / "__pycache__/code.pyc").write_text(root.name)
    (first / "a/more.py").write_text("a newer version")

    subprocess.run([SCRIPT, tree, first, second], check=True, timeout=60)

    links = {path.name: path.readlink() for path in tree.iterdir() if path.is_symlink()}
    assert links == {"b": first / "b", "c": second / "c"}
    assert (tree / "a/__pycache__/code.pyc").read_text() == "tree"
    assert not (tree / "d").is_symlink()
