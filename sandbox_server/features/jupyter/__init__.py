"""Jupyter: Python code in kernels that keep their state, with rich outputs."""
