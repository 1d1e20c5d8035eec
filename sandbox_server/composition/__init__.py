"""Builders of the product, by noun. Each takes what it needs and returns a frozen dataclass of what it made.

`sandbox_server.app` calls them through `first` and `rest`. A builder opens and starts nothing.
"""
