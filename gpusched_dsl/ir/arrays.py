"""The types of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int64]  # elements of a set, see domains.py
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]
Values = NDArray[Any]  # numbers, codes of elements, or texts as objects
