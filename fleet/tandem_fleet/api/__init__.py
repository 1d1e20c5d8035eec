"""The service's API over HTTP."""
