"""The parts of the product: which drivers and features it is made of, by noun. `sandbox_server.app` puts them together."""
