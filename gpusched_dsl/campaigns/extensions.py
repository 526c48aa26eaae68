"""The versions of other packages that add to the language, to data or to solving, as far as a run uses them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from gpusched_dsl.compiling.passes.added import PASSES_GROUP, TIGHTENINGS_GROUP
from gpusched_dsl.data.formats.registry import FORMATS_GROUP, GENERATORS_GROUP
from gpusched_dsl.ir.definitions.kinds import GROUP as DEFINITIONS
from gpusched_dsl.language.blocks.policies.rule_table import GROUP as RULES
from gpusched_dsl.language.distributions import GROUP as DISTRIBUTIONS
from gpusched_dsl.language.entry_points import providers
from gsdsl_backends.registry import GROUP as BACKENDS

NAMED = (FORMATS_GROUP, GENERATORS_GROUP, DISTRIBUTIONS)  # a text that uses an addition has its name
OF_ALL_RUNS = (DEFINITIONS, PASSES_GROUP, TIGHTENINGS_GROUP)  # a text does not name them
POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Extensions:
    """The packages that add something to runs, with their versions: by group and name of the addition."""

    packages: dict[str, dict[str, tuple[str, str]]] = field(
        default_factory=lambda: {group: providers(group) for group in (*NAMED, *OF_ALL_RUNS, RULES, BACKENDS)}
    )

    def versions(self, words: Collection[str], methods: Collection[str]) -> dict[str, str]:
        """Return the versions of the packages that a run may use.

        `words` are those of its blocks, `methods` its solvers and policies. Rules count for all runs of policies.
        """
        found: dict[str, str] = {}
        for group, additions in self.packages.items():
            for name, (package, version) in additions.items():
                is_used = {BACKENDS: name in methods, RULES: POLICY in words}.get(group, name in words)
                if is_used or group in OF_ALL_RUNS:
                    found[package] = version
        return found
