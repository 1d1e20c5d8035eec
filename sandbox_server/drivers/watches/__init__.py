"""Changes of files, told as they happen."""
