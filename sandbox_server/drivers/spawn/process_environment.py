"""Environment variables that new processes get beside those that the container started with, such as where the forward proxy is."""

from collections.abc import Mapping
from types import MappingProxyType


class ProcessEnvironment:
    """The variables: `Processes` reads them at each start, and one owner replaces them."""

    def __init__(self) -> None:
        self._variables: Mapping[str, str] = MappingProxyType({})

    @property
    def variables(self) -> Mapping[str, str]:
        """As they are now; a mapping that was read does not change."""
        return self._variables

    def replace(self, variables: Mapping[str, str]) -> None:
        """Give these to the processes that start from now on, and no others."""
        self._variables = MappingProxyType(dict(variables))
