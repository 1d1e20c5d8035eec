"""Adapters: a sandbox as the tools of an agent framework. Each module needs its framework, which an extra of the package installs."""
