"""The browser tools of agents whose arguments or answers are not those of the page API."""
