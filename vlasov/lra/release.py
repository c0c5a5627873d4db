"""How many examples the release of the Long Range Arena has of each task.

Source: Tay et al., Long Range Arena, arXiv:2011.04006, and its published code. Text has no
validation of its own there (the test serves), Pathfinder and Image are cut into parts.
"""

__all__ = ["RELEASE_SIZES"]

RELEASE_SIZES = {
    "listops": (96_000, 2_000, 2_000),
    "text": (25_000, 25_000, 25_000),
    "retrieval": (147_086, 18_090, 17_437),
    "pathfinder": (160_000, 20_000, 20_000),
    "image": (45_000, 5_000, 10_000),
}
"""Train, validation and test."""
