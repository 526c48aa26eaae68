"""Policies by name: those of a text and its imports, those of the standard library for the same model, and those for
any model with a placement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.checking import check_model, check_workspace
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.source_files import library_folder
from gpusched_dsl.language.workspace import Workspace, load_workspace
from gpusched_dsl.policies.generic.catalogue import GENERIC

# `policy Name "doc" for Model extends Other {`, the words between in any order.
_DECLARED = re.compile(r'^policy\s+(\w+)((?:\s+(?:for\s+\w+|extends\s+\w+|"(?:[^"\\\n]|\\.)*"))*)', re.MULTILINE)
_FOR, _EXTENDS = re.compile(r"\bfor\s+(\w+)"), re.compile(r"\bextends\s+(\w+)")
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def policy_files() -> list[Path]:
    """Return the files of the policies of the package, one per family of models, or one per model of a family."""
    return sorted(library_folder().glob("*/*policies.gsm"))


@cache
def _library_files() -> dict[Path, dict[str, str | None]]:
    """Return the files of the library with the names of their policies, and the model of each if the file states it.

    Read off the text, so that no file need be parsed to find out that it has nothing for a model.
    """
    return {path: _declared_policies(path.read_text(encoding="utf-8")) for path in policy_files()}


def _declared_policies(text: str) -> dict[str, str | None]:
    """The policies of a text with their models; None where a policy extends one of another file."""
    heads = {found[1]: _TEXT.sub("", found[2]) for found in _DECLARED.finditer(text)}

    def model(name: str, seen: frozenset[str]) -> str | None:
        head = heads.get(name, "")
        named, base = _FOR.search(head), _EXTENDS.search(head)
        if named is not None:
            return named[1]
        return None if base is None or base[1] in seen else model(base[1], seen | {name})

    return {name: model(name, frozenset()) for name in heads}


def _files_for(chain: Sequence[str], name: str | None = None) -> Iterator[Path]:
    """The files of the library that may have a policy (of that name) for one of these models."""
    for path, declared in _library_files().items():
        models = set(declared.values()) if name is None else {declared[name]} if name in declared else set()
        if None in models or not models.isdisjoint(chain):
            yield path


@cache
def library(path: Path) -> Workspace:
    """Return one file of the library with its imports; raise DiagnosticError if it is damaged."""
    found = Diagnostics()
    workspace = load_workspace(path, found)
    found.raise_if_errors()
    return workspace


def model_chain(workspace: Workspace, name: str) -> list[str]:
    """A model and all that it extends, the newest first."""
    chain = [name]
    while (block := workspace.models.get(chain[-1])) is not None and block.extends is not None:
        if block.extends.text in chain:
            break
        chain.append(block.extends.text)
    return chain


def policies_for(workspace: Workspace, model: str) -> Iterator[tuple[Workspace, tree.Policy]]:
    """The policies for a model: those of the text first, then those of the library that no name of the text hides."""
    chain = model_chain(workspace, model)
    seen: set[str] = set()
    for place in (workspace, *map(library, _files_for(chain))):
        for name, policy in place.policies.items():
            if name not in seen and _is_for(workspace, chain, place, policy):
                seen.add(name)
                yield place, policy


def policy_model(workspace: Workspace, policy: tree.Policy) -> str | None:
    """The name of the model that a policy, or the nearest one that it extends, is for."""
    seen: set[str] = set()
    at: tree.Policy | None = policy
    while at is not None and at.name.text not in seen:
        if at.model is not None:
            return at.model.text
        seen.add(at.name.text)
        at = None if at.extends is None else workspace.policies.get(at.extends.text)
    return None


def libraries() -> Iterator[Workspace]:
    """Return all files of the library, each with its imports."""
    for path in _library_files():
        yield library(path)


def is_policy(workspace: Workspace, name: str) -> bool:
    """Whether a name is that of a policy, of the text or of the library, whichever model it is for."""
    if name in workspace.policies or name in GENERIC:
        return True
    return any(name in names for names in _library_files().values())


def policy_names(workspace: Workspace) -> frozenset[str]:
    """The names of all policies, of the text and of the library, whichever model they are for."""
    return frozenset(workspace.policies).union(GENERIC, *_library_files().values())


def policy_named(workspace: Workspace, name: str, model: CheckedModel) -> CheckedPolicy:
    """The policy of that name, checked against a model with its options.

    A policy for this model comes before one for any model. Raises DiagnosticError: GSM4016 there is none for this
    model, else with all that is wrong in its text.
    """
    held = find_policy(workspace, name, model.name)
    if held is None and name in GENERIC:
        held = _generic_policy(name, workspace, model)
    if held is None:
        known = fitting_policies(workspace, model)
        message = f"unknown policy `{name}` for the model `{model.name}`"
        notes = (f"`{name}` is a policy for another model",) if is_policy(workspace, name) else ()
        listed = f"its policies are {', '.join(f'`{n}`' for n in known)}" if known else "the model has no policies"
        raise DiagnosticError([Diagnostic("GSM4016", message, notes=notes, help=did_you_mean(name, known) or listed)])
    return _check(*held, model)


def fitting_policies(workspace: Workspace, model: CheckedModel) -> list[str]:
    """Return the names of the policies for a model: its own, then those for any model that apply to it."""
    from gpusched_dsl.policies.generic.instantiate import obstacle  # loads the evaluator

    own = [policy.name.text for _, policy in policies_for(workspace, model.name)]
    return own + [name for name, generic in GENERIC.items() if name not in own and obstacle(generic, model) is None]


def any_policy_named(workspace: Workspace | None, name: str, model: str | None = None) -> CheckedPolicy:
    """The policy of that name, of a text or else of the library, checked against the model that it names.

    Raises DiagnosticError: GSM4016 there is none (for `model`), or several for different models; else with all that is
    wrong in its text.
    """
    if name in GENERIC and (only := _generic_model(workspace, name, model)) is not None:
        return policy_named(*only)
    own = () if workspace is None else (workspace,)
    files = (path for path, names in _library_files().items() if name in names)
    found = [
        (place, policy)
        for place in (*own, *map(library, files))
        if (policy := place.policies.get(name)) is not None
        and (model is None or policy_model(place, policy) in model_chain(place, model))
    ]
    if not found:
        known = sorted(policy_names(workspace or Workspace(None)))
        help = did_you_mean(name, known) or "`gsdsl policies` lists them"
        which = f" for the model `{model}`" if model else ""
        raise DiagnosticError([Diagnostic("GSM4016", f"unknown policy `{name}`{which}", help=help)])
    models = list(dict.fromkeys(policy_model(*each) or "" for each in found))
    if len(models) > 1 and found[0][0] is not workspace:
        listed = ", ".join(f"`{each}`" for each in models)
        help = f"choose one, as in `--model {models[0]}`, or name a file"
        raise DiagnosticError([Diagnostic("GSM4016", f"`{name}` is a policy for several models: {listed}", help=help)])
    return _check(*found[0], None)


def _generic_policy(name: str, workspace: Workspace, model: CheckedModel) -> tuple[Workspace, tree.Policy]:
    from gpusched_dsl.policies.generic.instantiate import generic_policy  # loads the evaluator

    return generic_policy(name, workspace, model)


def _generic_model(
    workspace: Workspace | None, name: str, model: str | None
) -> tuple[Workspace, str, CheckedModel] | None:
    """Return the model for which a policy for any model is meant: the named one, or the only one of a text.

    None if there is no such model, or if it has a policy of its own with this name.
    """
    places = [workspace] if workspace is not None else list(libraries())
    for place in places:
        names = [model] if model is not None else list(place.models)
        if len(names) != 1 or names[0] not in place.models or find_policy(place, name, names[0]) is not None:
            continue
        found = Diagnostics()
        checked = check_model(place, names[0], {}, found)
        found.raise_if_errors()
        if checked is not None:
            return place, name, checked
    return None


def _check(place: Workspace, policy: tree.Policy, model: CheckedModel | None) -> CheckedPolicy:
    from gpusched_dsl.language.blocks.policies.policy import check_policy

    found = Diagnostics()
    checked = check_policy(place, policy, found, model)
    found.raise_if_errors()
    if checked is None:  # its model is wrong: say what is
        check_workspace(place, found)
        found.raise_if_errors()
    assert checked is not None
    return checked


def find_policy(workspace: Workspace, name: str, model: str) -> tuple[Workspace, tree.Policy] | None:
    """Return the policy of that name for a model, and its file; read only the library files with such a policy."""
    chain = model_chain(workspace, model)
    for place in (workspace, *map(library, _files_for(chain, name))):
        policy = place.policies.get(name)
        if policy is not None and _is_for(workspace, chain, place, policy):
            return place, policy
    return None


def _is_for(workspace: Workspace, chain: Sequence[str], place: Workspace, policy: tree.Policy) -> bool:
    """Whether a policy of a file is for a model of `workspace` with this chain.

    A model of the text that only has the name of a model of the library is another one, unless it declares all that
    the latter does: then it may be a copy.
    """
    model = policy_model(place, policy)
    if model is None or model not in chain:
        return False
    own, shipped = workspace.models.get(model), place.models.get(model)
    return own is None or shipped is None or own is shipped or _declared(shipped) <= _declared(own)


def _declared(block: tree.ModelBlock) -> set[str]:
    """The names that a model declares."""
    names = (getattr(statement, "name", None) for statement in block.statements)
    return {name.text for name in names if isinstance(name, tree.Identifier)}
