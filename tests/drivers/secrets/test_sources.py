from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox_server.drivers.secrets import definition
from sandbox_server.drivers.secrets.definition import SecretDefinition, SourceKind, read_definition
from sandbox_server.drivers.secrets.sources import FetchedValue, SecretSources, ValueUnavailable

pytestmark = pytest.mark.anyio


def declared(name: str, source: dict[str, object]) -> SecretDefinition:
    return read_definition(
        name, {"bindings": [{"hosts": ["a.example"]}], "source": source}, lambda name: f"placeholder-{name}", declared=True
    )


async def fetched(source: dict[str, object], *, until: float | None = None) -> FetchedValue:
    async def store(place: Mapping[str, str]) -> FetchedValue:
        return FetchedValue(f"of {place['path']}", until)

    sources = SecretSources({"X": "of the environment"}, {SourceKind.VAULT: store}, 60.0, lambda: 1000.0)
    return await sources.fetch(declared("A", source))


async def test_a_value_comes_from_the_environment_once() -> None:
    assert await fetched({"env": "X"}) == FetchedValue("of the environment")
    with pytest.raises(ValueUnavailable, match="no variable Y"):
        await fetched({"env": "Y"})


async def test_a_file_is_read_again_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definition, "SECRETS_FOLDER", "/")
    (tmp_path / "x").write_text("of the file\n")
    assert await fetched({"file": str(tmp_path / "x")}) == FetchedValue("of the file", 1060.0)
    (tmp_path / "x").write_bytes(b"\xff")
    for name in ("x", "missing"):
        with pytest.raises(ValueUnavailable):
            await fetched({"file": str(tmp_path / name)})


async def test_a_store_is_asked_again_when_it_says_or_when_the_settings_do() -> None:
    assert await fetched({"vault": {"path": "app"}}) == FetchedValue("of app", 1060.0)
    assert await fetched({"vault": {"path": "app"}}, until=1010.0) == FetchedValue("of app", 1010.0)
    with pytest.raises(ValueUnavailable, match="aws is not configured"):
        await fetched({"aws": {"secret": "x"}})


async def test_no_representation_shows_a_value() -> None:
    assert "environment" not in repr(await fetched({"env": "X"}))


async def test_forgotten_sources_give_nothing() -> None:
    sources = SecretSources({"TOKEN": "x"}, {}, 60)
    definition = declared("TOKEN", {"env": "TOKEN"})
    assert (await sources.fetch(definition)).value == "x"
    sources.forget()
    with pytest.raises(ValueUnavailable):
        await sources.fetch(definition)
