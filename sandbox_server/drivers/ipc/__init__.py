"""Inter-process communication in this container: Unix sockets, JSON lines, descriptor passing, HTTP over a socket."""
