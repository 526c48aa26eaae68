"""From a generic policy and a model to a policy of the language: its text, or why it does not apply."""

from __future__ import annotations

import re
from dataclasses import dataclass

from msgspec import structs

from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.names import decisions_of
from gpusched_dsl.language.blocks.policies.rule_table import rules_of
from gpusched_dsl.language.blocks.policies.steps import text_of
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedPlacement,
    Element,
    IndexVar,
    NamedSet,
    Numeric,
    Role,
    TypedExpr,
)
from gpusched_dsl.language.checked_policy import ARRIVED, ATTAINED, SHORTEST
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.symbols import Symbols
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.policies.generic.catalogue import GENERIC, GenericPolicy

CODE = "GSM4016"
_HIDDEN = {ARRIVED: "the time of arrival", ATTAINED: "the GPU time that a job has had", SHORTEST: "the time to the end"}
_NEEDS: dict[Role, tuple[str, str]] = {
    "lasts": ("the placement does not state how long a job lasts", "add `lasts TIME;` to the placement"),
    "user": (
        "the placement does not state the user of a job",
        "add `user USER;` to the placement, such as `user owner[j];`; with it `share WEIGHT;` and `quota GPUS;`",
    ),
    "due": ("the placement does not state when a job is due", "add `due TIME;` to the placement: the time left"),
}


@dataclass(frozen=True, slots=True)
class PolicyObstacle:
    """Why a policy does not apply to a model, and what to do."""

    reason: str
    help: str


def obstacle(policy: GenericPolicy, model: CheckedModel) -> PolicyObstacle | None:
    """Return why the policy does not apply to a model, None if it applies."""
    found = _obstacle_of_placement(model)
    if found is not None:
        return found
    placement = model.placement
    assert placement is not None
    for role in policy.needs:
        if placement.item(role) is None:
            return PolicyObstacle(*_NEEDS[role])
    if any("{due}" in key for key in policy.keys) and not _is_of_job(placement, "due"):
        return PolicyObstacle("`due` depends on more than the job", "state a due time of the job: `due deadline[j];`")
    if any("{weight}" in key for key in policy.keys) and not _is_of_job(placement, "weight"):
        help = "state a price of tardiness of the job: `weight price[j];`"
        return PolicyObstacle("`weight` depends on more than the job", help)
    words = " ".join(policy.keys)
    read = [name for name in (ARRIVED, ATTAINED) if f"{{{name}}}" in words]
    if "{shortest}" in words and not _is_of_job(placement, "lasts"):
        read.append(SHORTEST)
    for name in read:
        if _hides(model, placement, name):
            reason = f"`{name}` of the model hides {_HIDDEN[name]}, and is no value of each job"
            return PolicyObstacle(reason, f"give `{name}` another name, or state it as a parameter of jobs")
    return None


def _hides(model: CheckedModel, placement: CheckedPlacement, name: str) -> bool:
    """Whether a model declares a name as something else than a value of each job."""
    if Symbols.of(model).span_of(name) is None:
        return False
    job = placement.index("job")
    found = model.params.get(name) or model.lets.get(name)
    return found is None or job is None or [index.type for index in found.indexing.variables] != [job.type]


def _obstacle_of_placement(model: CheckedModel) -> PolicyObstacle | None:
    """Return what prevents all of the policies."""
    placement = model.placement
    if placement is None:
        help = "state the meaning of its decisions: `placement run[j, n] { job j;  node n;  ... }`"
        return PolicyObstacle("the model has no placement", help)
    decisions = decisions_of(model)
    if decisions is None:
        return PolicyObstacle("the placement does not state the index of the job", "add `job j;` to the placement")
    if placement.index("slot") is not None:
        help = "write a policy with slots, with `choose n in ..., h in ... by ...;` and `occupies`"
        return PolicyObstacle("decisions have slots", help)
    if decisions.place is not None:
        return PolicyObstacle("decisions are positions in queues", "write a policy with `place append;`")
    if placement.index("node") is None:
        return PolicyObstacle("the placement does not state the index of the node", "add `node n;` to the placement")
    if decisions.job.name == IGNORED or not isinstance(decisions.job.type, Element):
        return PolicyObstacle("jobs are not elements of a set", "declare `set Jobs;` and index the decisions by it")
    return None


def generic_policy(name: str, workspace: Workspace, model: CheckedModel) -> tuple[Workspace, tree.Policy]:
    """Return the policy of that name for a model, and a workspace with it.

    Raises DiagnosticError (GSM4016) where it does not apply.
    """
    found = obstacle(GENERIC[name], model)
    if found is not None:
        message = f"`{name}` does not apply to the model `{model.name}`: {found.reason}"
        raise DiagnosticError([Diagnostic(CODE, message, help=found.help)])
    diagnostics = Diagnostics()
    file = parse(Source(f"{name} for {model.name}", policy_text(GENERIC[name], model)), diagnostics)
    diagnostics.raise_if_errors()
    [policy] = file.blocks
    assert isinstance(policy, tree.Policy)
    return structs.replace(workspace, policies={**workspace.policies, name: policy}), policy


def policy_text(policy: GenericPolicy, model: CheckedModel) -> str:
    """Return the policy for a model as text, for one to which it applies."""
    lines = "".join(f"  {line}\n" for line in _lines(policy, model))
    return f'policy {policy.name} for {model.name} "{policy.doc}" {{\n{lines}}}\n'


def _lines(policy: GenericPolicy, model: CheckedModel) -> list[str]:
    placement, decisions = model.placement, decisions_of(model)
    assert placement is not None
    assert decisions is not None
    job = decisions.job.name
    jobs = _jobs_set(model, placement, decisions.job)
    words = {
        "job": job,
        "jobs": jobs,
        "time": _unit(placement, "lasts"),
        "weight": _factor(placement.value("weight")),
        "arrived": f"{ARRIVED}[{job}]",
        "attained": f"{ATTAINED}[{job}]",
        "mean_time": _free_name(model, "mean_time"),
        "shortest": _text(placement.value("lasts")) if _is_of_job(placement, "lasts") else f"{SHORTEST}[{job}]",
        "due": _text(placement.value("due")),
    }
    if policy.lets:
        words |= {"shortest": _factor(words["shortest"]), "due": _factor(words["due"])}
    keys = ", ".join(key.format(**words) for key in policy.keys)
    found = [f"let {line.format(**words)}" for line in policy.lets]
    found.append(f"order {job} in {jobs} by {keys};")
    if decisions.choices or not _is_of_job(placement, "lasts"):
        of_ways = [_text(value) for role in ("lasts", "uses") if (value := placement.value(role)) is not None]
        found.append(f"choose by {', '.join(of_ways) or '1'};")
    found.append(f"place {_rules(policy, placement)};")
    if not policy.preempts:
        found.append("keep running;")
    return found


def _rules(policy: GenericPolicy, placement: CheckedPlacement) -> str:
    """The rules of `place`: gangs get their nodes together, by one rule."""
    if not placement.has_gangs or policy.rules.split()[0] in rules_of("standalone"):
        return policy.rules
    return f"fewest_racks, {policy.rules.split(', ')[-1]}"


def _jobs_set(model: CheckedModel, placement: CheckedPlacement, job: IndexVar) -> str:
    """The set that the family of the placement takes its jobs from, or else all jobs."""
    at = placement.indices.index(job)
    for iterator in model.variables[placement.variable].indexing.iterators:
        if at < len(iterator.variables):
            if len(iterator.variables) == 1 and isinstance(iterator.domain, NamedSet):
                return iterator.domain.name
            break
        at -= len(iterator.variables)
    assert isinstance(job.type, Element)
    return job.type.root


def _is_of_job(placement: CheckedPlacement, role: Role) -> bool:
    """Whether a role depends on no index but the job; also if it is not stated."""
    value = placement.value(role)
    return value is None or free_variables(value) <= {placement.index("job")}


def _text(value: TypedExpr | None) -> str:
    return "" if value is None else text_of(value.span.text)


def _free_name(model: CheckedModel, name: str) -> str:
    """A name that the model does not declare."""
    symbols = Symbols.of(model)
    while symbols.span_of(name) is not None:
        name += "_"
    return name


def _factor(value: TypedExpr | str | None) -> str:
    """A value as a factor of a product: in parentheses unless it is one name or one element; 1 if not stated."""
    text = value if isinstance(value, str) else _text(value)
    return text if re.fullmatch(r"\w+(\[[^][]*\])?", text) else f"({text})" if text else "1"


def _unit(placement: CheckedPlacement, role: Role) -> str:
    value = placement.value(role)
    return str(value.type.unit) if value is not None and isinstance(value.type, Numeric) else ""
