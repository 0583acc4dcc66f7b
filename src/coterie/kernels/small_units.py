"""Cut what each person did into small units: few items, in a short time."""

from __future__ import annotations

import numpy as np

from coterie.kernels._arrays import Flags, Ints
from coterie.kernels._jit import jit


@jit
def numbered(new_subject: Flags, new_item: Flags, moment: Ints, most: int, span: int) -> Ints:
    """The number of the unit of each row among those of its subject, from 0 on.

    Rows are sorted by (subject, moment, item); the flags say where subject and item differ from those of the row
    before. A unit holds rows from `moment` of its first one to `span` later, and at most `most` runs of equal items.
    """
    unit = np.zeros(moment.size, dtype=np.int64)
    number, begin, items = np.int64(0), np.int64(0), 0
    for row in range(moment.size):
        if new_subject[row]:
            number, begin, items = np.int64(0), moment[row], 1
        elif moment[row] - begin > span or (new_item[row] and items == most):
            number, begin, items = number + 1, moment[row], 1
        elif new_item[row]:
            items += 1
        unit[row] = number
    return unit
