"""The builders of the product, by noun: each takes what it needs and gives a frozen dataclass of what it made.

`sandbox_server.app` calls them through `first` and `rest`. A builder opens nothing and starts nothing.
"""
