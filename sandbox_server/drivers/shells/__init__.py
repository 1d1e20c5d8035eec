"""Interactive shells in tmux."""
