"""`scripts/trim` takes out what nothing reads when packages run, and what they need and their licences stay."""

import ctypes
import signal
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "trim"


def made(tree: Path, *names: str) -> None:
    """Files, each with its name in it."""
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)


def left(tree: Path) -> set[str]:
    """The files that are there."""
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()}


def trim(*trees: Path) -> None:
    """Run it."""
    subprocess.run([SCRIPT, *trees], check=True, timeout=60)


def test_a_compiled_module_loses_its_symbols_and_loads(tmp_path: Path) -> None:
    source, module = tmp_path / "answer.c", tmp_path / "answer.cpython-313.so"
    source.write_text("static int hidden(void) { return 42; } int answer(void) { return hidden(); }")
    subprocess.run(["cc", "-g", "-shared", "-fPIC", "-o", module, source], check=True, timeout=60)
    before = module.stat().st_size

    trim(tmp_path)

    assert module.stat().st_size < before
    assert ctypes.CDLL(str(module)).answer() == 42
    assert not source.exists(), "it lies beside what was compiled from it"


def test_tests_types_and_maps_of_packages_go_and_licences_stay(tmp_path: Path) -> None:
    kept = (
        "python/package/__init__.py",
        "python/package/types.pyi",
        "python/package/template.c",
        "python/package-1.dist-info/licenses/LICENSE",
        "npm/node_modules/package/index.js",
        "npm/node_modules/package/LICENSE.md",
        "npm/node_modules/package/data.md",
        "npm/extensions/node_modules/typescript/lib/lib.dom.d.ts",
    )
    made(
        tmp_path,
        *kept,
        "python/package/tests/test_it.py",
        *(f"npm/node_modules/package/index{end}" for end in (".d.ts", ".ts", ".js.map", ".h")),
        "npm/node_modules/package/README.md",
        "npm/node_modules/package/CHANGELOG.md",
    )

    trim(tmp_path / "python", tmp_path / "npm")

    assert left(tmp_path) == set(kept)


def test_a_library_that_debian_has_too_is_a_link_to_debians(tmp_path: Path) -> None:
    library, other = tmp_path / "av.libs/libxcb-5ddf6756.so.1.1.0", tmp_path / "av.libs/libx264-d6533a8d.so.165"
    library.parent.mkdir()
    for path in (library, other):
        subprocess.run(["cc", "-shared", "-o", path, "-x", "c", "/dev/null"], check=True, timeout=60)

    trim(tmp_path)

    assert library.is_symlink()
    assert library.resolve().name.startswith("libxcb.so.1")
    assert not other.is_symlink()


def test_an_encoder_that_nothing_uses_has_a_stand_in_that_loads(tmp_path: Path) -> None:
    encoder, user = tmp_path / "av.libs/libx265-eebb7db1.so.217", tmp_path / "av.libs/libavcodec-d61378e8.so.63"
    encoder.parent.mkdir()
    compiler: list[str | Path] = ["cc", "-shared", "-fPIC", "-x", "c", "-"]
    large = b"char table[1000000] = {1}; int x265_api_get_217(void) { return 42; } int unused(void) { return 0; }"
    subprocess.run([*compiler, f"-Wl,-soname,{encoder.name}", "-o", encoder], input=large, check=True, timeout=60)
    calls = b"int x265_api_get_217(void); int encode(void) { return x265_api_get_217(); } int decode(void) { return 7; }"
    linked: list[str | Path] = ["-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-L", encoder.parent, f"-l:{encoder.name}"]
    subprocess.run([*compiler, "-o", user, "-x", "none", *linked], input=calls, check=True, timeout=60)
    load: list[str | Path] = [sys.executable, "-c", "import ctypes, sys; print(ctypes.CDLL(sys.argv[1], mode=2)[sys.argv[2]]())", user]
    assert subprocess.run([*load, "encode"], capture_output=True, check=True, timeout=60).stdout == b"42\n"

    trim(tmp_path)

    assert encoder.stat().st_size < 30_000
    assert subprocess.run([*load, "decode"], capture_output=True, check=True, timeout=60).stdout == b"7\n"
    assert subprocess.run([*load, "encode"], capture_output=True, check=False, timeout=60).returncode == -signal.SIGILL


def test_equal_files_become_one(tmp_path: Path) -> None:
    for name in ("one/same", "two/same"):
        made(tmp_path, name)
        (tmp_path / name).write_text("equal" * 100)

    trim(tmp_path / "one", tmp_path / "two")

    assert (tmp_path / "one/same").samefile(tmp_path / "two/same")
