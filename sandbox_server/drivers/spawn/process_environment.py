"""Environment variables that new processes get beside those that the container started with: the proxy's, placeholders of secrets."""

from collections.abc import Mapping
from types import MappingProxyType


class ProcessEnvironment:
    """The variables: `Processes` reads them at each start. Each owner replaces its own."""

    def __init__(self) -> None:
        self._of_owners: dict[str, Mapping[str, str]] = {}
        self._variables: Mapping[str, str] = MappingProxyType({})

    @property
    def variables(self) -> Mapping[str, str]:
        """As they are now; a mapping that was read does not change."""
        return self._variables

    def replace(self, variables: Mapping[str, str], owner: str = "") -> None:
        """Give these of an owner to the processes that start from now on, and no others of that owner."""
        self._of_owners[owner] = dict(variables)
        self._variables = MappingProxyType({name: value for each in self._of_owners.values() for name, value in each.items()})
