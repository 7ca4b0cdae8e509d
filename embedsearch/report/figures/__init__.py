"""Figures, written as PNG without a display and without matplotlib's global state."""
