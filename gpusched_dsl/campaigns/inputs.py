"""The hashes of everything that a run reads: texts of blocks without comments, data files, versions."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.compiling.passes.steps import PASSES_GROUP, TIGHTENINGS_GROUP
from gpusched_dsl.data.formats.registry import FORMATS_GROUP, GENERATORS_GROUP
from gpusched_dsl.data.sources.files import DataFile, FileLimits
from gpusched_dsl.data.sources.reader import FileReader
from gpusched_dsl.data.sources.sqlite_files import LOGS
from gpusched_dsl.ir.definitions.kinds import GROUP as DEFINITIONS
from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.grid import GridRun
from gpusched_dsl.language.blocks.campaigns.methods import START
from gpusched_dsl.language.blocks.policies.rule_table import GROUP as RULES
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.distributions import GROUP as DISTRIBUTIONS
from gpusched_dsl.language.entry_points import providers
from gpusched_dsl.language.parsing.lexing import lex
from gpusched_dsl.language.scenarios.assignments import FileAssignment
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.policies.generic.catalogue import GENERIC
from gpusched_dsl.policies.library import find_policy
from gpusched_dsl.version import __version__
from gpusched_dsl.workflows.text_start import start_of_text
from gsdsl_backends.registry import GROUP as BACKENDS
from gsdsl_backends.registry import backend, solver_names

CHUNK = 1 << 20
NAMED = (FORMATS_GROUP, GENERATORS_GROUP, DISTRIBUTIONS)  # a text that uses an addition has its name
OF_ALL_RUNS = (DEFINITIONS, PASSES_GROUP, TIGHTENINGS_GROUP)  # a text does not name them
POLICY = "policy"
SQLITE = b"SQLite format 3"  # the first bytes of a database
MISSING = "missing"
POLICY_OPTIONS = ("fallback", START)  # options of a method that may name a policy


class InputHashes:
    """Hashes of the inputs of runs of one workspace, each computed once."""

    def __init__(self, workspace: Workspace, permissions: Permissions) -> None:
        self.workspace, self.permissions = workspace, permissions
        self._tokens: dict[int, list[tuple[int, str]]] = {}
        self._blocks: dict[tuple[str, str], dict[str, str]] = {}
        self._scenarios: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[str, dict[str, str]]] = {}
        self._files: dict[Path, str] = {}
        self._versions: dict[str, dict[str, str]] = {}
        self._block_words: dict[str, set[str]] = {}  # by kind and name of the block
        self._extensions = {group: providers(group) for group in (*NAMED, *OF_ALL_RUNS, RULES, BACKENDS)}

    @cached_property
    def texts(self) -> str:
        """Return one hash of all texts of the workspace."""
        return text_digest(self.workspace)

    def blocks(self, run: GridRun) -> dict[str, str]:
        """Return the hash of each block that a run uses, by kind and name."""
        model, _ = self._scenario(run)
        found = {**self._chain("scenario", run.scenario), **self._chain("model", model)}
        policies = [run.method, *(str(run.options[name]) for name in POLICY_OPTIONS if name in run.options)]
        if run.verb == "run":
            online = self.workspace.onlines
            name = run.online or (next(iter(online)) if len(online) == 1 else "")
            found |= self._chain("online", name)
            policies += [
                statement.policy.text
                for block in self._chain_of("online", name)
                if isinstance(block, tree.Online)
                for statement in block.statements
                if isinstance(statement, tree.FallbackPolicy)
            ]
        for policy in policies:
            found |= self._policy(policy, model)
        return found

    def data(self, run: GridRun) -> dict[str, str]:
        """Return the hash of each data file that a run reads, by its path as written."""
        start = self.start(run)
        own = {} if start is None else {str(run.options[START]): self._file(start)}
        return own | self._scenario(run)[1]

    def start(self, run: GridRun) -> Path | None:
        """Return the file of results that a run starts from; None for a policy or no start.

        Raises DiagnosticError for a file that the text may not read.
        """
        name = run.options.get(START)
        return start_of_text(self.workspace, name, run.span) if isinstance(name, str) else None

    def versions(self, run: GridRun) -> dict[str, str]:
        """Return the versions of gsdsl, of the solvers that a run uses, and of the packages that extend it."""
        names = [run.method, str(run.options.get("judge", "highs")), str(run.options.get("fallback", ""))]
        held = find_policy(self.workspace, run.method, self._scenario(run)[0])
        if held is not None:
            names += _members(list(_inheritance_chain(held[0].policies, run.method)))
        found = {"gsdsl": __version__, **self._extension_versions(self._words(run), names)}
        for name in names:
            if name in solver_names():
                found |= self._backend_versions(name)
        return found

    def _extension_versions(self, words: Collection[str], methods: Collection[str]) -> dict[str, str]:
        """Return the versions of the packages that add to the language, to data or to solving what a run may use.

        `words` are those of its blocks, `methods` its solvers and policies. Rules count for all runs of policies.
        """
        found: dict[str, str] = {}
        for group, additions in self._extensions.items():
            for name, (package, version) in additions.items():
                is_used = {BACKENDS: name in methods, RULES: POLICY in words}.get(group, name in words)
                if is_used or group in OF_ALL_RUNS:
                    found[package] = version
        return found

    def _words(self, run: GridRun) -> set[str]:
        """Return the words of all blocks that a run uses, and `policy` if there is one of a policy."""
        words: set[str] = set()
        for key in self.blocks(run):
            words |= self._block_words.get(key, {key.partition(" ")[0]})
        return words

    # --- blocks ------------------------------------------------------------------------------------------------------

    def _chain(self, kind: str, name: str) -> dict[str, str]:
        if (kind, name) not in self._blocks:
            blocks = self._chain_of(kind, name)
            self._blocks[kind, name] = {f"{kind} {_name(block)}": self._digest(block) for block in blocks}
        return self._blocks[kind, name]

    def _chain_of(self, kind: str, name: str) -> list[tree.TopLevelBlock]:
        kinds: dict[str, Mapping[str, tree.TopLevelBlock]] = {
            "model": self.workspace.models,
            "scenario": self.workspace.scenarios,
            "online": self.workspace.onlines,
        }
        return list(_inheritance_chain(kinds[kind], name))

    def _policy(self, name: str, model: str) -> dict[str, str]:
        """Return the hashes of a policy, of all that it extends, and of the policies that a portfolio names."""
        if ("policy", name) not in self._blocks:
            held = find_policy(self.workspace, name, model)
            if held is not None:
                blocks = list(_inheritance_chain(held[0].policies, name))
                found = {f"policy {_name(b)}": self._digest(b) for b in blocks}
                self._blocks["policy", name] = found  # first, for a policy that names itself
                for member in _members(blocks):
                    found |= self._policy(member, model)
            elif name in GENERIC:
                found = {f"policy {name}": hashlib.sha256(repr(GENERIC[name]).encode()).hexdigest()}
            else:
                found = {}
            self._blocks["policy", name] = found
        return self._blocks["policy", name]

    def _digest(self, block: tree.TopLevelBlock) -> str:
        """Return the hash of the tokens of a block: comments, blanks and line breaks do not count."""
        source, span = block.span.source, block.span
        if id(source) not in self._tokens:
            self._tokens[id(source)] = _tokens_of(source)
        tokens = [text for start, text in self._tokens[id(source)] if span.start <= start < span.end]
        self._block_words[f"{tokens[0]} {_name(block)}"] = set(tokens)
        return hashlib.sha256("\0".join(tokens).encode("utf-8", "surrogatepass")).hexdigest()

    # --- data --------------------------------------------------------------------------------------------------------

    def _scenario(self, run: GridRun) -> tuple[str, dict[str, str]]:
        """Return the model of a scenario and its data files; settings of values do not change them."""
        paths = tuple((key, text) for key, text in run.settings.items() if key.startswith('"'))
        if (run.scenario, paths) not in self._scenarios:
            found = Diagnostics()
            scenario = check_scenario(self.workspace, run.scenario, run.settings, found)
            if scenario is None:
                raise DiagnosticError(tuple(found))
            self._scenarios[run.scenario, paths] = (scenario.model.name, self._data_of(scenario))
        return self._scenarios[run.scenario, paths]

    def _data_of(self, scenario: CheckedScenario) -> dict[str, str]:
        reader = FileReader(
            self.workspace.base or Path.cwd(),
            FileLimits(allow_outside=self.permissions.outside),
            self.workspace.roots,
        )
        hashes: dict[str, str] = {}
        for assignments in scenario.assignments.values():
            for assignment in assignments:
                if isinstance(assignment, FileAssignment) and isinstance(assignment.data, tree.Data):
                    located = reader.locate(assignment.data)
                    digest = self._file(located.path) if isinstance(located, DataFile) else MISSING
                    name = assignment.data.path.value
                    while hashes.get(name, digest) != digest:  # two folders have a file of this name
                        name += "'"
                    hashes[name] = digest
        return hashes

    def _file(self, path: Path) -> str:
        if path not in self._files:
            self._files[path] = file_digest(path)
        return self._files[path]

    def _backend_versions(self, name: str) -> dict[str, str]:
        if name not in self._versions:
            try:
                self._versions[name] = dict(backend(name).versions())
            except DiagnosticError:  # not installed: the run tells it
                self._versions[name] = {name: MISSING}
        return self._versions[name]


def text_digest(workspace: Workspace) -> str:
    """Return one hash of all texts of a workspace, whatever the names of their files."""
    return hashlib.sha256(repr(sorted(workspace.sha256.values())).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, or `missing` if it cannot be read; of a SQLite database with its log beside it."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            is_database = file.read(len(SQLITE)) == SQLITE
            file.seek(0)
            _add_to(digest, file)
        for end in LOGS if is_database else ():  # as the reader of databases does: it may contain what was committed
            log = path.with_name(path.name + end)
            if log.is_file():
                with log.open("rb") as file:
                    _add_to(digest, file)
    except OSError:
        return MISSING
    return digest.hexdigest()


def _add_to(digest: hashlib._Hash, file: BinaryIO) -> None:
    while chunk := file.read(CHUNK):
        digest.update(chunk)


def _tokens_of(source: Source) -> list[tuple[int, str]]:
    lexed = lex(source, Diagnostics())
    return [] if lexed is None else [(token.start_pos or 0, str(token)) for token in lexed.tokens]


def _inheritance_chain(blocks: Mapping[str, tree.TopLevelBlock], name: str) -> Iterator[tree.TopLevelBlock]:
    """Yield a block and all that it extends; none for an unknown name."""
    seen: set[str] = set()
    while name in blocks and name not in seen:
        seen.add(name)
        yield blocks[name]
        extends = getattr(blocks[name], "extends", None)
        name = "" if extends is None else extends.text


def _members(blocks: Sequence[tree.TopLevelBlock]) -> list[str]:
    """Return the methods that a portfolio with these blocks, the newest first, names; none for other policies."""
    lines: dict[str, tree.PolicyRule] = {}
    for block in blocks:
        if isinstance(block, tree.Policy):
            own = {line.verb: line for line in block.statements if isinstance(line, tree.PolicyRule)}
            lines = own | lines
    plans, continuing = lines.get("portfolio"), lines.get("continue")
    names = [] if plans is None else [call.name.text for call in plans.methods]
    return names + ([] if continuing is None else [name.text for name in continuing.by])


def _name(block: tree.TopLevelBlock) -> str:
    name: tree.Identifier = block.name  # type: ignore[attr-defined]
    return name.text
