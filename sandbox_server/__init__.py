"""One Linux computer, shared by an agent and a person, behind one API."""

__version__ = "0.1.0.0"
