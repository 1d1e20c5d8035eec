from pathlib import Path

import pytest

from sandbox_server.core import FileError, InvalidArgument, Reply
from sandbox_server.drivers.files import ripgrep
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.ripgrep import Ripgrep
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.file import search as module
from sandbox_server.features.file.search import FileGrepRequest, FileGrepResult, FileSearch, FileSearchRequest, FileSearchResult

pytestmark = pytest.mark.anyio


@pytest.fixture
def search(files: Files, processes: Processes) -> FileSearch:
    return FileSearch(files, Ripgrep(processes))


@pytest.fixture
def tree(home: Path) -> Path:
    for name, text in {
        "a.py": "import os\nprint('needle')\nend\n",
        "b.txt": "needle\nNeedle\n",
        "sub/c.py": "x = 'needle'\n",
        "node_modules/d.py": "needle\n",
        ".hidden.py": "needle\n",
    }.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text)
    return home


async def find(search: FileSearch, request: FileSearchRequest) -> FileSearchResult:
    reply: Reply[FileSearchResult] = await search.search(request)
    return reply.data


async def grep(search: FileSearch, path: Path, pattern: str = "needle", **options: object) -> FileGrepResult:
    reply: Reply[FileGrepResult] = await search.grep(FileGrepRequest.model_validate({"path": str(path), "pattern": pattern, **options}))
    return reply.data


def places(result: FileGrepResult, top: Path) -> list[tuple[str, int]]:
    return [(str(Path(match.file).relative_to(top)), match.line_number) for match in result.matches]


async def test_lines_of_one_file_are_found_with_their_numbers(search: FileSearch, tree: Path) -> None:
    result = await find(search, FileSearchRequest(file=f"{tree}/b.txt", regex="(?i)need(?=le)"))
    assert (result.matches, result.line_numbers, result.truncated) == (("needle", "Needle"), (1, 2), False)


async def test_a_file_is_searched_whatever_its_encoding_or_line_ends(search: FileSearch, home: Path) -> None:
    for data in ("eins\nnädel\n".encode("utf-16"), b"a\0b\xff\nn\xc3\xa4del\r\n"):
        (home / "f").write_bytes(data)
        result = await find(search, FileSearchRequest(file=f"{home}/f", regex="nädel"))
        assert (result.matches, result.line_numbers) == (("nädel",), (2,))


async def test_a_missing_file_and_a_directory_are_file_errors(search: FileSearch, tree: Path) -> None:
    for path, kind in ((f"{tree}/missing", "not_found"), (str(tree), "invalid_target")):
        with pytest.raises(FileError) as error:
            await search.search(FileSearchRequest(file=path, regex="x"))
        assert error.value.error_type == kind


async def test_what_is_neither_a_file_nor_a_directory_is_not_searched(search: FileSearch) -> None:
    with pytest.raises(FileError, match="is a device") as error:
        await grep(search, Path("/dev/zero"))
    assert error.value.error_type == "invalid_target"


async def test_a_tree_is_searched_in_the_order_of_names(search: FileSearch, tree: Path) -> None:
    result = await grep(search, tree)
    assert places(result, tree) == [("a.py", 2), ("b.txt", 1), ("node_modules/d.py", 1), ("sub/c.py", 1)]
    assert (result.match_count, result.files_matched, result.truncated) == (4, 4, False)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"include": ("*.py",), "exclude": ("node_modules",)}, ["a.py", "sub/c.py"]),
        ({"include": ("sub/**", "*.txt")}, ["b.txt", "sub/c.py"]),
        ({"include": ("*",), "type": "py", "exclude": ("node_modules",)}, ["a.py", "sub/c.py"]),
        ({"recursive": False}, ["a.py", "b.txt"]),
        ({"type": "txt"}, ["b.txt"]),
        ({"include_hidden": True, "recursive": False}, [".hidden.py", "a.py", "b.txt"]),
        ({"case_insensitive": True, "include": ("*.txt",)}, ["b.txt", "b.txt"]),
        ({"pattern": "print('needle')", "fixed_strings": True}, ["a.py"]),
        ({"pattern": "os.print", "multiline": True}, ["a.py"]),
        ({"max_file_size": "15"}, ["b.txt", "node_modules/d.py", "sub/c.py"]),
        ({"pattern": "--help"}, []),
    ],
)
async def test_what_is_searched_and_for_what_can_be_narrowed(
    search: FileSearch, tree: Path, options: dict[str, object], found: list[str]
) -> None:
    assert [path for path, _ in places(await grep(search, tree, **options), tree)] == found  # type: ignore[arg-type]


async def test_a_hidden_file_that_is_named_is_searched(search: FileSearch, tree: Path) -> None:
    assert (await grep(search, tree / ".hidden.py")).match_count == 1
    (tree / ".config").mkdir()
    (tree / ".config/f").write_text("needle")
    assert (await grep(search, tree / ".config")).match_count == 1


async def test_what_git_ignores_is_left_out_unless_it_is_asked_for(search: FileSearch, tree: Path) -> None:
    (tree / ".git").mkdir()
    (tree / ".gitignore").write_text("sub\n")
    assert places(await grep(search, tree, include=("*.py",), exclude=("node_modules",)), tree) == [("a.py", 2)]
    assert ("sub/c.py", 1) in places(await grep(search, tree, include_ignored=True), tree)


async def test_context_is_given_when_it_is_asked_for(search: FileSearch, tree: Path) -> None:
    [match] = (await grep(search, tree / "a.py", context_before=2, context_after=2)).matches
    assert (match.context_before, match.line_content, match.context_after) == (["import os"], "print('needle')", ["end"])
    [bare] = (await grep(search, tree / "a.py")).matches
    assert (bare.context_before, bare.context_after) == (None, None)


async def test_matches_next_to_each_other_are_context_of_each_other(search: FileSearch, home: Path) -> None:
    (home / "f").write_text("x1\nx2\nx3\n")
    first, second, third = (await grep(search, home / "f", "x", context_before=1, context_after=1)).matches
    assert (first.context_before, first.context_after) == ([], ["x2"])
    assert (second.context_before, second.context_after) == (["x1"], ["x3"])
    assert (third.context_before, third.context_after) == (["x2"], [])


async def test_pages_follow_each_other_and_count_everything(search: FileSearch, home: Path) -> None:
    (home / "f").write_text("x\n" * 25)
    numbers: list[int] = []
    for offset in (0, 10, 20):
        page = await grep(search, home, "x", max_results=10, offset=offset)
        numbers += [match.line_number for match in page.matches]
        assert (page.match_count, page.truncated) == (25, offset < 20)
    assert numbers == list(range(1, 26))


async def test_what_could_not_be_searched_is_mentioned(search: FileSearch, tree: Path) -> None:
    (tree / "sub").chmod(0)
    reply: Reply[FileGrepResult] = await search.grep(FileGrepRequest(path=str(tree), pattern="needle"))
    (tree / "sub").chmod(0o755)
    assert reply.data.match_count == 3
    assert "Not everything could be searched" in (reply.hint or "")
    assert f"{tree}/sub" in (reply.hint or "")


async def test_a_pattern_that_gives_up_says_so(search: FileSearch, home: Path) -> None:
    (home / "f").write_text("a" * 50_000 + "\n")
    reply: Reply[FileSearchResult] = await search.search(FileSearchRequest(file=f"{home}/f", regex="(?=x)?(a+)+$(?<!a)"))
    assert "Not everything could be searched" in (reply.hint or "")


async def test_a_very_long_line_is_cut_around_the_match(search: FileSearch, home: Path) -> None:
    (home / "f").write_text("ä" * 50_000 + "needle" + "b" * 50_000)
    [match] = (await grep(search, home / "f")).matches
    assert match.line_truncated
    assert "needle" in match.line_content
    assert len(match.line_content) == ripgrep.MAX_LINE


async def test_a_search_that_finds_too_much_stops_and_says_so(search: FileSearch, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "MAX_KEPT", 1000)
    (home / "f").write_text("x" * 99 + "\n" * 1 + ("x" * 99 + "\n") * 5000)
    reply = await search.grep(FileGrepRequest(path=str(home), pattern="x", max_results=10_000))
    assert reply.data.truncated
    assert reply.data.files_searched is None
    assert "narrow it" in (reply.hint or "")


async def test_a_search_that_takes_too_long_gives_what_it_has(search: FileSearch, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.1)
    monkeypatch.setattr(ripgrep, "_ALWAYS", ("sh", "-c", "sleep 60"))
    assert (await grep(search, home, "x")).truncated


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"pattern": "("}, "unclosed group"),
        ({"type": "nope"}, "unrecognized file type"),
        ({"max_file_size": "many"}, "max_file_size"),
    ],
)
async def test_what_ripgrep_does_not_take_is_said_in_its_words(
    search: FileSearch, tree: Path, options: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        await grep(search, tree, **options)  # type: ignore[arg-type]


async def test_a_name_that_is_not_utf8_is_given_as_it_is_asked_for(search: FileSearch, home: Path, files: Files) -> None:
    Path(f"{home}/caf\udce9").write_text("needle")
    [match] = (await grep(search, home)).matches
    assert (await files.access("read").read(match.file))[0] == b"needle"
    assert (await grep(search, Path(match.file))).match_count == 1


async def test_globs_that_are_too_large_are_refused(search: FileSearch, tree: Path) -> None:
    with pytest.raises(InvalidArgument, match="glob"):
        await grep(search, tree, include=["*a" * 40])
