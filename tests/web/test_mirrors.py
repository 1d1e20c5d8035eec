"""Each module of the pages that holds logic has its test; the others are entries, which a page, a worker or a worklet loads."""

import re
from pathlib import Path

import sandbox_server
from tests.tables import table_test

WEB = Path(sandbox_server.__file__).parent / "web"
TESTS = Path(__file__).parent
MODULES = [module for module in sorted(WEB.rglob("*.js")) if WEB / "vendor" not in module.parents]

LOGIC = re.compile(
    r"^export (?:async )?(?:function|class)\b|^export const \w+ = (?:async )?\([^)]*\) =>|^export const \w+ = (?:async )?\w+ =>",
    re.MULTILINE,
)
"""An exported function or class."""
EXPORT = re.compile(r"^export\b", re.MULTILINE)
LOADED = re.compile(r"""<script[^>]* src="/static/([^"]+)"|(?:new (?:Shared)?Worker|addModule)\(\s*new URL\("\./([^"]+)",""")
"""How an entry is loaded: by a page's address, or from the module's own folder."""


def holds_logic(module: Path) -> bool:
    """Whether other modules can call something of it."""
    return bool(LOGIC.search(module.read_text("utf-8")))


def entries() -> set[Path]:
    """The modules that nobody imports, since the browser loads them by themselves; the gateway writes the error pages."""
    files = [file for file in WEB.rglob("*") if file.suffix in (".html", ".js") and WEB / "vendor" not in file.parents]
    files += sorted((WEB.parent.parent / "nginx").rglob("*.conf"))
    found = [(file, match) for file in files for match in LOADED.finditer(file.read_text("utf-8"))]
    return {WEB / match[1] if match[1] else file.parent / match[2] for file, match in found}


def mirrored(module: Path) -> Path:
    """Where the test of a module belongs."""
    return TESTS / module.relative_to(WEB).with_suffix(".test.mjs")


@table_test({str(module.relative_to(WEB)): module for module in MODULES if holds_logic(module)})
def test_every_module_with_logic_has_its_test(module: Path) -> None:
    test = mirrored(module)
    address = f"/static/{module.relative_to(WEB)}"
    if test.is_file():
        assert address in test.read_text("utf-8"), f"{test.name} does not import its module"
    else:
        neighbours = sorted(test.parent.glob("*.test.mjs"))
        assert any(address in each.read_text("utf-8") for each in neighbours), f"tests/web/{test.relative_to(TESTS)} is missing"


def test_every_test_has_its_module() -> None:
    tests = [file.relative_to(TESTS) for file in TESTS.rglob("*.test.mjs")]
    modules = {str(module.relative_to(WEB).with_suffix("")) for module in MODULES}
    assert [str(test) for test in tests if str(test).removesuffix(".test.mjs") not in modules] == []


def test_a_module_that_exports_nothing_is_loaded_as_an_entry() -> None:
    silent = {module for module in MODULES if not EXPORT.search(module.read_text("utf-8"))}
    assert silent - entries() == set()


def test_a_decoder_has_the_name_of_its_codec() -> None:
    decoders = {module.stem for module in (WEB / "stream/decoders").glob("*.js")}
    assert decoders == {"exact", "h264", "jpeg"}
    assert decoders <= {codec.stem for codec in (WEB.parent / "stream/codecs").glob("*.py")}
