"""Grey levels as token ids: pictures read row by row, one token for a pixel.

Ids are levels plus one, so that 0 stays padding and a black pixel is a token. The published code
takes the levels themselves as ids and masks 0: black pixels then are padding, two thirds of a
Pathfinder image. That rule is kept as parity mode, for comparisons only.
"""

__all__ = ["cut_note", "empty_note", "grey_examples", "luma"]

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from vlasov.errors import InvalidValue
from vlasov.lra.examples import Examples


def luma(pixels: npt.NDArray[np.uint8], *, rounding: bool = False) -> npt.NDArray[np.uint8]:
    """Grey levels 0.2989 r + 0.587 g + 0.114 b of colour planes on the third axis from the end.

    The sum is stretched by 255.5 / 255 and cut, as TensorFlow turns fractions into bytes: one
    level below the rounded value for a quarter of all colours. With `rounding` it is rounded, with
    the weights 0.299, 0.587 and 0.114 of PIL.

    Example:
        >>> colour = np.array([200, 0, 0], dtype=np.uint8).reshape(3, 1, 1)
        >>> luma(colour).item(), luma(colour, rounding=True).item()
        (59, 60)
    """
    red, green, blue = np.moveaxis(pixels, -3, 0).astype(np.int32)
    if rounding:  # in units of 2⁻¹⁶
        levels = (19595 * red + 38470 * green + 7471 * blue + (1 << 15)) >> 16
    else:  # in whole numbers, at most 1.3e9: no rounding of floats moves the cut
        levels = (2989 * red + 5870 * green + 1140 * blue) * 511 // (510 * 10_000)
    return levels.astype(np.uint8)


def grey_examples(
    levels: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    *,
    length: int,
    parity: bool = False,
) -> Examples:
    """Examples from grey pictures of shape (m, h, w), cut after `length` pixels.

    Raises:
        InvalidValue: in parity mode, for a picture that is black as far as it is read.
    """
    flat = levels.reshape(len(levels), -1)[:, :length]
    _require_tokens(flat, parity)
    tokens = torch.from_numpy(flat.astype(np.int16) + (0 if parity else 1)).flatten()
    offsets = torch.arange(len(flat) + 1) * flat.shape[1]
    return Examples(tokens, offsets, torch.from_numpy(labels), zero_is_padding=parity)


def _require_tokens(flat: npt.NDArray[np.uint8], parity: bool) -> None:
    black = np.flatnonzero(~flat.any(axis=1))
    if parity and black.size:
        raise InvalidValue(
            f"In parity mode black pixels are padding but picture {black[0]} has no other among "
            f"its {flat.shape[1]:,}. Leave `parity` out, or ask for a greater length."
        )


def cut_note(pixels: int, length: int) -> tuple[str, ...]:
    """What to say of pictures of which only the first pixels are read; nothing of whole ones."""
    if length >= pixels:
        return ()
    return (f"of the {pixels:,} pixels of each picture the first {length:,} are read",)


def empty_note(names: Sequence[str]) -> tuple[str, ...]:
    """What to say of files without content, which are left out; nothing where there are none.

    Example:
        >>> empty_note(["imgs/0/sample_172.png"])
        ('1 empty picture left out: imgs/0/sample_172.png',)
    """
    if not names:
        return ()
    shown = ", ".join(names[:_SHOWN]) + ", …" * (len(names) > _SHOWN)
    return (f"{len(names)} empty picture{'s' * (len(names) > 1)} left out: {shown}",)


_SHOWN = 10
