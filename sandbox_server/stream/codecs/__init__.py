"""Codecs: how pixels are encoded for a viewer, and the decoders of clients in Python. The browser's decoders have the same names."""
