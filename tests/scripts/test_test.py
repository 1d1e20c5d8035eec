"""`scripts/test` runs again, alone, what failed in the crowd, names what is flaky, and fails for the rest. The engine is a stand-in."""

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "test"
CONTAINERS = ["image", "changed", "pages"]
CODE = ["drivers", "browser", "features", "others"]
ENGINE = r"""#!/bin/sh
case "$1" in run) ;; *) exit ;; esac
for each in "$@"; do
  case "$each" in
    tests.timeout_factor) echo "$*" >>"$HERE/measured"; echo 3; exit ;;
    *:/run/told) told=${each%:/run/told} ;;
    TANDEM_TOLD=*) part=${each##*/} ;;
  esac
done
echo "$part" >>"$HERE/parts"
echo "$part: $*" >>"$HERE/runs"
echo "$part:$(echo " $*" | grep -o ' --env TIMEOUT_FACTOR ')$TIMEOUT_FACTOR" >>"$HERE/factors"
if [ -e "$HERE/$part.waits" ]; then until grep -Fxq -f "$HERE/$part.waits" "$HERE/parts"; do sleep 0.1; done; fi
echo "what $part said"
if [ -e "$HERE/$part.hangs" ]; then exit 1; fi
echo 0 >"$told/$part.ended"
if [ -e "$HERE/$part.stays" ]; then exit 1; fi
if [ "$part" = again ]; then
  cat "$told/ids" >>"$HERE/again"
  if grep -Fxq -f "$told/ids" "$HERE/broken" 2>/dev/null; then exit 1; fi
  exit
fi
if [ "$part" = changed ]; then cp "$told/changed" "$HERE/changed"; fi
if [ -e "$HERE/$part.late" ]; then cp "$HERE/$part.late" "$told/$part.late"; fi
if [ -e "$HERE/$part.empty" ]; then echo 5 >"$told/$part.ended"; exit 5; fi
if [ -e "$HERE/$part.fails" ]; then cp "$HERE/$part.fails" "$told/$part.failed"; echo 1 >"$told/$part.ended"; exit 1; fi
"""
OLD = "tests/core/test_old.py"
NEW = "tests/core/test_new.py"
ALTERED = "tests/core/test_altered.py"
BEFORE = """import pytest

NUMBER = 1


@pytest.mark.parametrize("number", [1])
def test_decorated(number: int) -> None:
    assert number


def test_a() -> None:
    assert NUMBER


def test_emptied() -> None:
    assert NUMBER
    assert NUMBER + 1


def test_removed() -> None:
    assert NUMBER


class TestAll:
    async def test_b(self) -> None:
        assert NUMBER


def helper(
    number: int,
) -> int:
    return number


def test_last() -> None:
    assert helper(1)
"""
AFTER = (
    ("NUMBER = 1", "NUMBER = 2"),
    ("[1])", "[1, 2])"),
    ("    assert NUMBER + 1\n", ""),
    ("def test_removed() -> None:\n    assert NUMBER\n\n\n", ""),
    ("        assert NUMBER\n", "        assert NUMBER == 2\n"),
    ("    return number\n", "    return number + 1\n\n\n@pytest.mark.slow\ndef test_new() -> None:\n    assert NUMBER\n"),
)


class Checkout:
    """A repository whose change writes the file `NEW` and tests of the file `ALTERED`, with stand-ins for what builds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir()
        shutil.copy(SCRIPT, folder / "scripts")
        self.program("scripts/build", "#!/bin/sh\n")
        self.program("scripts/sizes", "#!/bin/sh\n")
        self.program("scripts/engine", f"#!/bin/sh\necho {folder}/docker\n")
        self.program("docker", ENGINE)
        (folder / "tests").mkdir()
        (folder / "tests" / "gate.txt").write_text("tests/test_layout.py\ntests/web/test_mirrors.py\n")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("2026-01-02T03:04:05Z", {OLD: "", ALTERED: BEFORE})
        after = BEFORE
        for one, other in AFTER:
            after = after.replace(one, other)
        self.commit("2026-01-05T03:04:05Z", {ALTERED: after, NEW: "def test_a() -> None:\n    pass\n"})

    def program(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def git(self, *arguments: str, date: str = "") -> None:
        who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} | who
        subprocess.run(["git", *arguments], cwd=self.folder, env=env, check=True)

    def commit(self, date: str, files: dict[str, str]) -> None:
        for file, text in files.items():
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / file).write_text(text)
        self.git("add", *files)
        self.git("commit", "--quiet", "--message", " ".join(files), date=date)

    def fails(self, part: str, *nodes: str) -> None:
        """Have tests fail in a part."""
        (self.folder / f"{part}.fails").write_text("".join(f"{node}\n" for node in nodes))

    def hold(self, part: str, other: str) -> None:
        """Have a part last until another has begun."""
        (self.folder / f"{part}.waits").write_text(f"{other}\n")

    def break_again(self, *nodes: str) -> None:
        """Have tests fail alone, too."""
        (self.folder / "broken").write_text("".join(f"{node}\n" for node in nodes))

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": "/usr/bin:/bin", "HERE": str(self.folder), "HOME": str(self.folder), "LANES": "1"} | more
        command = [str(self.folder / "scripts" / "test"), *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)

    def lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def untils(self) -> dict[str, int]:
        """When no further test began, by part."""
        found = (re.fullmatch(r"(\w+): .* TANDEM_DEADLINE=(\d+) .*", line) for line in self.lines("runs"))
        return {each[1]: int(each[2]) for each in found if each}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout in which every test passes."""
    return Checkout(tmp_path)


def test_without_a_failure_nothing_runs_again(checkout: Checkout) -> None:
    done = checkout.run()
    assert done.returncode == 0, done.stderr
    assert checkout.lines("parts") == [*CONTAINERS, *reversed(CODE)]
    assert "what pages said" in done.stdout
    assert "flaky" not in done.stdout


def test_the_machine_is_measured_once_and_its_factor_said_and_given_to_every_part(checkout: Checkout) -> None:
    done = checkout.run()
    assert "test: timeouts are multiplied by 3 on this machine" in done.stderr.splitlines()
    assert len(checkout.lines("measured")) == 1
    assert [line.split(": ")[0] for line in checkout.lines("factors") if line.endswith(" 3")] == checkout.lines("parts")


def test_a_factor_of_the_callers_is_taken_and_nothing_is_measured(checkout: Checkout) -> None:
    done = checkout.run("tests/core", TIMEOUT_FACTOR="1.5")
    assert "test: timeouts are multiplied by 1.5 on this machine" in done.stderr.splitlines()
    assert checkout.lines("measured") == []
    assert checkout.lines("factors") == ["one: --env TIMEOUT_FACTOR 1.5"]


def test_the_machine_is_measured_under_the_runtime_of_the_sandboxes(checkout: Checkout) -> None:
    assert checkout.run("tests/image", TANDEM_RUNTIME="runsc").returncode == 0
    assert " --runtime=runsc " in checkout.lines("measured")[0]


def test_the_lane_of_the_containers_takes_what_is_left_of_the_code_from_the_back(checkout: Checkout) -> None:
    checkout.hold("drivers", "browser")
    done = checkout.run(LANES="2")
    assert done.returncode == 0, done.stderr
    assert [part for part in checkout.lines("parts") if part != "drivers"] == [*CONTAINERS, "others", "features", "browser"]
    assert checkout.lines("parts").count("drivers") == 1
    assert all(f"what {part} said" in done.stdout for part in (*CONTAINERS, *CODE))


def test_no_two_parts_with_containers_run_beside_each_other(checkout: Checkout) -> None:
    checkout.hold("image", "others")
    done = checkout.run(LANES="2")
    assert done.returncode == 0, done.stderr
    assert [part for part in checkout.lines("parts") if part != "image"] == [*CODE, "changed", "pages"]
    assert checkout.lines("parts").count("image") == 1


def test_of_the_whole_ring_what_measures_runs_last(checkout: Checkout) -> None:
    assert checkout.run("--all").returncode == 0
    parts = checkout.lines("parts")
    assert parts[-1] == "timing"
    whole = ["image", "pages", "full-image", "full-egress", "full-pages", "full-examples", *CODE, "full-code", "timing"]
    assert sorted(parts) == sorted(whole)


@pytest.mark.parametrize(("arguments", "left"), [((), True), (("--all",), False)])
def test_what_the_gate_runs_is_left_to_it_by_the_ring_that_lands_alone(checkout: Checkout, arguments: tuple[str, ...], left: bool) -> None:
    assert checkout.run(*arguments).returncode == 0
    (others,) = (line for line in checkout.lines("runs") if line.startswith("others: "))
    assert (" --ignore=tests/test_layout.py --ignore=tests/web/test_mirrors.py " in others) is left
    assert ("tests/test_layout.py" in "".join(checkout.lines("runs"))) is left


def test_what_passes_alone_twice_is_named_and_fails_nothing(checkout: Checkout) -> None:
    nodes = [f"{OLD}::test_a[x::y z]", f"{OLD}::test_b"]
    checkout.fails("others", *nodes)
    checkout.fails("pages", "tests/pages/test_c.py::test_c")
    done = checkout.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("flaky: ")] == [
        *(f"flaky: {node}" for node in nodes),
        "flaky: tests/pages/test_c.py::test_c",
    ]
    assert done.stdout.splitlines()[-1] == "test: 3 flaky"
    assert checkout.lines("again") == [*nodes, *nodes, *["tests/pages/test_c.py::test_c"] * 2]


def test_what_fails_alone_fails_the_run_and_the_others_are_still_named(checkout: Checkout) -> None:
    checkout.fails("others", f"{OLD}::test_a")
    checkout.fails("pages", "tests/pages/test_c.py::test_c")
    checkout.break_again(f"{OLD}::test_a")
    done = checkout.run()
    assert done.returncode == 1
    assert f"failed again, alone, the first time: {OLD}::test_a" in done.stdout
    assert "what again said" in done.stdout
    assert "flaky: tests/pages/test_c.py::test_c" in done.stdout


def test_a_failed_test_that_the_change_writes_or_alters_has_no_second_chance(checkout: Checkout) -> None:
    nodes = [f"{ALTERED}::{name}" for name in ("test_decorated[2]", "test_emptied", "TestAll::test_b[x::y z]", "test_new")]
    checkout.fails("others", f"{NEW}::test_a", *nodes, f"{ALTERED}::test_a", f"{ALTERED}::test_last")
    done = checkout.run()
    assert done.returncode == 1
    assert f"flaky: {NEW}::test_a\nfailed, and is of the change: {NEW}::test_a" in done.stdout
    said = [line.removeprefix("failed, and is of the change: ") for line in done.stdout.splitlines() if "is of the change" in line]
    assert said == [*sorted(nodes), f"{NEW}::test_a"]
    assert "test: the change is what differs from " in done.stderr


def test_a_failed_test_that_the_change_leaves_as_it_is_has_one_also_in_a_file_that_it_touches(checkout: Checkout) -> None:
    checkout.fails("others", f"{ALTERED}::test_a", f"{ALTERED}::test_last")
    done = checkout.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-3:] == [f"flaky: {ALTERED}::test_a", f"flaky: {ALTERED}::test_last", "test: 2 flaky"]


def test_what_is_not_committed_is_of_the_change(checkout: Checkout) -> None:
    (checkout.folder / "tests" / "test_later.py").write_text("def test_a() -> None:\n    pass\n")
    checkout.fails("others", "tests/test_later.py::test_a")
    done = checkout.run()
    assert done.returncode == 1
    assert "failed, and is of the change: tests/test_later.py::test_a" in done.stdout


def test_where_no_commit_is_older_than_the_change_every_test_is_of_it(checkout: Checkout) -> None:
    checkout.git("checkout", "--quiet", "--orphan", "shallow")
    checkout.commit("2026-01-05T03:04:05Z", {"tests/core/test_third.py": ""})
    checkout.fails("others", f"{ALTERED}::test_a")
    done = checkout.run()
    assert done.returncode == 1
    assert f"failed, and is of the change: {ALTERED}::test_a" in done.stdout
    assert "every file counts as changed" in done.stderr


def test_what_was_written_long_ago_does_not_end_the_change_where_it_is_committed_last(checkout: Checkout) -> None:
    checkout.commit("2026-01-01T03:04:05Z", {"tests/core/test_third.py": ""})
    checkout.git("commit", "--quiet", "--amend", "--no-edit", "--date=2026-01-01T03:04:05Z", date="2026-01-05T04:04:05Z")
    checkout.fails("others", f"{NEW}::test_a")
    done = checkout.run()
    assert done.returncode == 1
    assert f"failed, and is of the change: {NEW}::test_a" in done.stdout


@pytest.mark.parametrize("how", ["hangs", "stays"])
def test_a_part_that_does_not_end_by_itself_fails_the_run(checkout: Checkout, how: str) -> None:
    """It hangs in a test, or is ended after its last test, as a thread of it goes on."""
    (checkout.folder / f"drivers.{how}").touch()
    done = checkout.run()
    assert done.returncode == 1
    assert "test: part drivers did not end well: 1" in done.stderr
    assert checkout.lines("again") == []


def test_a_part_that_failed_without_a_test_fails_the_run(checkout: Checkout) -> None:
    checkout.fails("drivers")
    done = checkout.run()
    assert done.returncode == 1
    assert "test: part drivers did not end well: 1" in done.stderr


def test_where_tests_of_many_files_fail_none_runs_again(checkout: Checkout) -> None:
    checkout.fails("drivers", *(f"tests/drivers/test_{number}.py::test_a" for number in range(11)))
    done = checkout.run()
    assert done.returncode == 1
    assert "test: tests of 11 files failed; of more than 10 none runs again" in done.stderr
    assert checkout.lines("again") == []


def test_the_tests_are_told_what_belongs_to_the_change_which_may_be_none(checkout: Checkout) -> None:
    (checkout.folder / "changed.empty").touch()
    (checkout.folder / "new").touch()
    assert checkout.run().returncode == 0
    assert checkout.lines("changed")[:2] == [ALTERED, NEW]
    assert "new" in checkout.lines("changed")
    assert OLD not in checkout.lines("changed")


def test_a_part_without_a_test_fails_the_run(checkout: Checkout) -> None:
    (checkout.folder / "others.empty").touch()
    done = checkout.run()
    assert done.returncode == 1
    assert "test: part others did not end well: 5" in done.stderr


def test_ten_minutes_before_the_deadline_no_test_begins_and_those_of_the_change_have_eight_minutes_at_most(checkout: Checkout) -> None:
    far = int(time.time()) + 100_000
    assert checkout.run(DEADLINE=str(far)).returncode == 0
    untils = checkout.untils()
    assert {untils[part] for part in untils if part != "changed"} == {far - 600}
    assert untils["changed"] < far - 600


def test_without_a_deadline_those_of_the_change_alone_have_an_end(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    assert {part for part, until in checkout.untils().items() if until} == {"changed"}


def test_what_was_not_run_for_lack_of_time_is_named_and_fails_nothing(checkout: Checkout) -> None:
    (checkout.folder / "pages.late").write_text("tests/pages/test_c.py::test_c\ntests/pages/test_c.py::test_d\n")
    done = checkout.run()
    assert done.returncode == 0
    assert "not run for lack of time: tests/pages/test_c.py (2 tests)\n" in done.stdout
    assert "test: 2 tests were not run for lack of time\n" in done.stdout


def test_what_failed_and_cannot_run_again_before_the_deadline_fails_the_run(checkout: Checkout) -> None:
    checkout.fails("others", f"{OLD}::test_a")
    done = checkout.run(DEADLINE="1000000")
    assert done.returncode == 1
    assert f"failed, not run again for lack of time: {OLD}::test_a" in done.stdout
    assert checkout.lines("again") == []
