"""Many Tandem sandboxes: their desired state in a store, what exists in an engine, and a loop that makes one the other."""

__version__ = "0.2.0"
