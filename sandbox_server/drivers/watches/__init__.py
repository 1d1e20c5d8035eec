"""File watches: changes of files, reported as they happen."""
