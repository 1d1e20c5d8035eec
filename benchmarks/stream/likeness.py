"""How like one picture is to another."""

from typing import Any

import numpy as np


def luma(rgb: Any) -> Any:
    """Brightness (BT.709)."""
    return rgb @ np.array([0.2126, 0.7152, 0.0722])


def ssim(one: Any, other: Any) -> float:
    """Structural similarity (Wang and others, 2004) of two planes in windows of 8x8 pixels: exactly 1.0 only if they are equal."""

    def mean(values: Any) -> Any:
        height, width = (size // 8 * 8 for size in values.shape)
        rows = values[:height, :width].reshape(height // 8, 8, width).sum(axis=1)
        return rows.reshape(height // 8, width // 8, 8).sum(axis=2) / 64

    if np.array_equal(one, other):
        return 1.0
    a, b = mean(one), mean(other)
    variance = mean(one * one) - a * a + mean(other * other) - b * b
    shared = mean(one * other) - a * b
    found = float(np.mean((2 * a * b + 6.5025) * (2 * shared + 58.5225) / ((a * a + b * b + 6.5025) * (variance + 58.5225))))
    return min(found, 1 - 1e-9)


def of_brightness(one: Any, other: Any) -> float:
    """Structural similarity of the brightness of two RGB pictures, which is 1.0 only if they are equal in colour, too."""
    return 1.0 if np.array_equal(one, other) else min(ssim(luma(one), luma(other)), 1 - 1e-9)


def of_colours(one: Any, other: Any) -> float:
    """Structural similarity of two RGB pictures, each colour by itself: blurred colours, as of text in 4:2:0, are seen."""
    planes = (ssim(one[:, :, plane].astype(float), other[:, :, plane].astype(float)) for plane in range(3))
    return float(np.mean(list(planes)))
