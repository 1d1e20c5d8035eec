"""Checks of what an image has added, run while the image is built, so that errors fail the build instead of the start."""
