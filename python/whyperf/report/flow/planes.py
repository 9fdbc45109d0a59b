"""Numbers as planes of bytes: all lowest bytes, then all second bytes, and so on.

A plane of one value, as most upper ones are, is stored as that value: neither made smaller by zlib
here nor unpacked in the page.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

CONSTANT, WHOLE = b"\0", b"\1"


def planes(values: npt.NDArray[Any], width: int) -> list[bytes]:
    """`width` planes of little-endian integers; the bytes above must not matter."""
    values = np.ascontiguousarray(values)
    spread = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
    parts: list[bytes] = []
    for index in range(width):
        plane = spread[:, index].tobytes()
        one = plane[:1] or b"\0"
        parts += [CONSTANT, one] if plane.count(one) == len(plane) else [WHOLE, plane]
    return parts
