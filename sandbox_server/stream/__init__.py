"""The screen as a stream: exact rects for what is still, films for what moves, to each viewer what it does not have."""
