"""Input: what a viewer does is injected into the desktop, and what others do is echoed to it; the clipboard goes both ways."""
