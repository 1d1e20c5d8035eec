"""What an image has added, looked at while the image is built: what would fail at the start fails the build."""
