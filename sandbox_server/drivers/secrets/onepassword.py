"""Values from 1Password Connect.

https://developer.1password.com/docs/connect/api-reference
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from sandbox_server import patterns
from sandbox_server.drivers.secrets.sources import FetchedValue, ValueUnavailable
from sandbox_server.drivers.secrets.store_http import ask

FIELD = "password"
_ID = patterns.compile(r"[a-z0-9]{26}")
_TITLES = {"vaults": "name", "items": "title"}


class OnePassword:
    """Fetches fields of items. Vaults and items are given by their ids or their names."""

    def __init__(self, address: str, token: str) -> None:
        self._address = address.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"}

    async def fetch(self, place: Mapping[str, str]) -> FetchedValue:
        """Get one field of an item. Raises ValueUnavailable."""
        vault = await self._id("vaults", f"{self._address}/v1/vaults", place["vault"])
        items = f"{self._address}/v1/vaults/{vault}/items"
        item = await ask("GET", f"{items}/{await self._id('items', items, place['item'])}", self._headers)
        return FetchedValue(_field(item, place.get("field", FIELD)))

    async def _id(self, kind: str, url: str, name: str) -> str:
        """Return the id of what has a name; a name that is an id already is returned. Raises ValueUnavailable."""
        if _ID.fullmatch(name):
            return name
        wanted = name.replace("\\", "\\\\").replace('"', '\\"')
        question = quote(f'{_TITLES[kind]} eq "{wanted}"')
        found = await ask("GET", f"{url}?filter={question}", self._headers)
        named = [each.get("id") for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
        if len(named) != 1 or not isinstance(named[0], str) or not _ID.fullmatch(named[0]):
            raise ValueUnavailable(f"1Password has no {kind[:-1]} of that name, or more than one")
        return named[0]


def _field(item: Any, name: str) -> str:
    fields = item.get("fields") if isinstance(item, Mapping) else None
    for each in fields if isinstance(fields, list) else []:
        if isinstance(each, Mapping) and name in (each.get("id"), each.get("label")) and isinstance(each.get("value"), str):
            return str(each["value"])
    raise ValueUnavailable(f"the item has no field {name}")
