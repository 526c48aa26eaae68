"""Distributions of non-negative random quantities: survival, mean, partial expectation, conditioning."""

from __future__ import annotations

from abc import ABC, abstractmethod

from gpusched_dsl.ir.matrix import Floats


class Distribution(ABC):
    """The law of a real random variable W. All methods are vectorised over their argument."""

    @property
    @abstractmethod
    def mean(self) -> float: ...

    @abstractmethod
    def survival(self, x: Floats) -> Floats:
        """P(W > x), right-continuous."""

    @abstractmethod
    def partial_expectation(self, x: Floats) -> Floats:
        """E[min(W, x)]: concave, its derivative is the survival function."""

    @abstractmethod
    def given_above(self, x: float) -> Distribution:
        """The law of W given W > x; raises ValueError when that has probability 0."""
