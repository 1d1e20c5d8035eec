"""`scripts/release` refuses what is no release, before it builds."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.org")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout at the tag of its version, with an engine that only says that it was asked."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "sandbox_server").mkdir()
    shutil.copy(SCRIPTS / "release", tmp_path / "scripts")
    (tmp_path / "scripts" / "engine").write_text("#!/bin/sh\necho building >&2\nexit 9\n")
    (tmp_path / "scripts" / "engine").chmod(0o755)
    (tmp_path / "sandbox_server" / "__init__.py").write_text('"""It."""\n\n__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (2026-01-02)\n\n- New.\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    git(tmp_path, "tag", "v1.2.3")
    return tmp_path


def git(tree: Path, *arguments: str) -> None:
    subprocess.run(["git", *AUTHOR, *arguments], cwd=tree, check=True, timeout=60)


def commit(tree: Path) -> None:
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "it")


def release(tree: Path, *arguments: str, **environ: str) -> tuple[int, str]:
    """Run the script; gives its status and what it says."""
    path = {"PATH": "/usr/bin:/bin", "HOME": str(tree)}
    command: list[str | Path] = [tree / "scripts" / "release", *arguments]
    done = subprocess.run(command, env=path | environ, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def test_a_clean_checkout_at_its_tag_is_built(tree: Path) -> None:
    assert release(tree, "v1.2.3") == (9, "building\n")
    assert release(tree, "v1.2.3", "--push", "registry.example.org/tandem") == (9, "building\n")


def test_a_tag_that_is_not_the_version_is_refused(tree: Path) -> None:
    git(tree, "tag", "v1.2.4")
    assert release(tree, "v1.2.4") == (1, "release: the version is 1.2.3, and its tag would be v1.2.3\n")


def test_a_tag_that_is_not_there_or_elsewhere_is_refused(tree: Path) -> None:
    commit(tree)
    assert release(tree, "v1.2.3") == (1, "release: the checkout is not at v1.2.3\n")
    git(tree, "tag", "--delete", "v1.2.3")
    assert release(tree, "v1.2.3") == (1, "release: there is no tag v1.2.3\n")


def test_changes_that_are_not_committed_are_refused(tree: Path) -> None:
    (tree / "new").write_text("new\n")
    assert release(tree, "v1.2.3") == (1, "release: the checkout has changes that are not committed\n")


def test_a_changelog_without_the_version_or_its_date_is_refused(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 1.2.3\n\n## 1.2.30 (2026-01-02)\n")
    commit(tree)
    git(tree, "tag", "--force", "v1.2.3")
    assert release(tree, "v1.2.3") == (1, "release: CHANGELOG.md has no section 1.2.3 with a date\n")


def test_a_key_that_cannot_be_read_is_refused_before_anything_is_built(tree: Path) -> None:
    assert release(tree, "v1.2.3", COSIGN_KEY="/nowhere") == (1, "release: COSIGN_KEY: /nowhere cannot be read\n")
    assert release(tree, "v1.2.3", COSIGN_KEY="awskms:///alias/tandem") == (9, "building\n")


def test_other_arguments_are_answered_with_the_usage(tree: Path) -> None:
    for arguments in ((), ("v1.2.3", "--push"), ("v1.2.3", "--pull", "there")):
        assert release(tree, *arguments) == (2, "usage: scripts/release vVERSION [--push REPOSITORY]\n")
