"""The kinds of arrays that kernels take and give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Short = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Masks = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
