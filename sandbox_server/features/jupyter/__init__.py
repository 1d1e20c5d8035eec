"""Jupyter: Python code in kernels that remember, with rich outputs."""
