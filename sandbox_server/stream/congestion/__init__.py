"""Congestion control: how much may be in flight to a viewer, and the bitrate and the quality of its videos."""
