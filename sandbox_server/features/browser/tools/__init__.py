"""The agents' browser tools whose arguments or results differ from the page API."""
