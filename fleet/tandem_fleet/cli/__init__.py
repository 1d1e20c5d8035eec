"""The command `tandem`."""
