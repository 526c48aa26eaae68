"""SECURITY.md, sentence by sentence: each promise stands beside the tests that would refute it."""

# ruff: noqa: E501

from __future__ import annotations

import re
import tomllib
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from security_page import ROOT, sentences

import gpusched_dsl as gs
from benchmarks.packages import file_of_test, package_folders
from gpusched_dsl.cli import main
from gsdsl_service.access import read_tokens

TESTS: dict[str, tuple[str, ...]] = {
    "Say the version (`gsdsl --version`), the files or requests, and what happens.": (
        "test_release.py::test_the_changelog_begins_with_a_version_that_is_not_older",
    ),
    "Fixes are made for the newest minor version and listed in [CHANGELOG.md](CHANGELOG.md).": (
        "test_release.py::test_the_changelog_begins_with_a_version_that_is_not_older",
    ),
    "installed Python packages: entry points of `gpusched_dsl.*` are imported;": (
        "test_extensions.py::test_a_backend",
        "test_extensions.py::test_nothing_of_it_is_imported_unless_it_is_named",
    ),
    "`--method 'program:COMMAND'` starts that command, options name files to write.": (
        "online/test_programs.py::test_a_program_decides_a_run",
    ),
    "No other input starts a program, except the three that follow;": (
        "entry_points/test_requests.py::test_every_text_of_a_new_session",
        "entry_points/test_journals.py::test_every_text_of_a_header",
        "security/test_text_options.py::test_no_factor_names_a_program",
    ),
    "a kubeconfig: it names programs that log in, and files that are sent to a server.": (
        "clusters/inspecting/test_kubernetes_source.py::test_a_cluster_by_its_kubeconfig",
    ),
    "`gsdsl inspect` uses that of `kubectl` and one that `--as kubeconfig` states; another file that turns out to be one may name neither, and only the server that it names is reached;": (
        "clusters/inspecting/test_kubernetes_source.py::test_a_kubeconfig_is_recognised",
        "clusters/inspecting/test_kubernetes_source.py::test_data_that_turn_out_to_be_a_kubeconfig_start_no_program",
    ),
    "the configuration of `gsdsl drive` (`cluster.toml`): it names the folder of Slurm's commands, the address of an API and the files of tokens, and may name programs as methods; with `--act` it decides what may be changed;": (
        "clusters/drivers/test_cluster_file.py::test_the_files_of_a_driver_are_found_from_the_cluster_file",
        "clusters/drivers/test_slurm_json.py::test_settings_of_slurm",
    ),
    "Python code that uses the package: it may name programs as methods, and pass functions, such as those of experiments of an engine;": (
        "online/test_programs.py::test_a_program_decides_a_run",
    ),
    "Dask moves them as pickles, so a Dask scheduler and its workers must be yours;": (
        "engines/test_dask_engine.py::test_results_and_failures",
    ),
    "| `.gsm` text: models, scenarios, policies, campaigns | import `.gsm` files and read data files of its own folder and of the library; use time and memory | run programs, reach the network, write files, or leave its folder (also by symbolic links, `..` or absolute paths), except with `--allow-outside`, and within a project that the user [marks](docs/reference/language.md) by a file `.gsdsl-root`. Options of solvers in texts are numbers, switches and choices; values of factors of campaigns are checked like written ones |": (
        "language/test_project_root.py::test_no_import_leaves_a_marked_project",
        "data/test_files.py::test_paths_do_not_leave_the_folder",
        "data/test_files.py::test_links_do_not_lead_out",
        "data/test_files.py::test_outside_may_be_allowed",
        "security/test_text_options.py::test_options_of_tests_and_campaigns",
        "security/test_text_options.py::test_no_factor_names_a_program",
    ),
    "| CSV, JSON Lines, Parquet, SQLite, Excel | use time and memory up to the limits for files, rows and decoded sizes | run code: no format with code is read (no pickles, no macros, no extensions of SQLite); SQLite files are opened for reading and leave no file beside them, Parquet and Excel files are read first in a process of their own |": (
        "data/test_files.py::test_large_files_are_refused",
        "data/test_files.py::test_expansion_is_capped",
        "data/test_sqlite_files.py::test_reading_leaves_nothing",
        "data/test_parquet_trial.py::test_a_file_that_takes_too_much_memory_ends_the_trial_only",
        "security/test_security_page.py::test_no_format_with_code_is_read",
    ),
    "| problem as JSON, LP, MPS; settings; warm starts | use time and memory | run code; they are checked field by field |": (
        "security/test_named_by_inputs.py::test_problems",
        "security/test_named_by_inputs.py::test_results_as_warm_starts_and_settings",
    ),
    "| journal of a run | be refused: it is checked against the model, the data, the seed and its chain of hashes, and is repeated before it continues | run code. The chain finds damage and careless edits. It is not a signature: who can write the file can write a consistent one |": (
        "entry_points/test_journals.py::test_every_text_of_a_header",
        "online/journal/test_journal_damage.py::test_what_others_changed_is_found",
    ),
    "| saved state of a run, beside its journal | be refused: it is bound to the journal, its inputs and the version by hashes; who can write it can change what `estimate` and `why` say | run code: it has JSON and arrays, of a closed list of classes |": (
        "online/checkpoints/test_damaged_states.py::test_a_damaged_state_is_named_and_left_out",
        "online/checkpoints/test_damaged_states.py::test_only_known_classes_are_read",
        "online/checkpoints/test_damaged_states.py::test_the_record_of_another_model_is_refused",
    ),
    "| records and saved outputs for `inspect` | use time and memory up to the limits for files; as a kubeconfig, reach the server that it names | start programs, read other files |": (
        "clusters/inspecting/test_kubernetes_source.py::test_data_that_turn_out_to_be_a_kubeconfig_start_no_program",
        "clusters/inspecting/test_read_clusters.py::test_records_above_the_limits_of_files",
    ),
    "| events of a live run, requests to `serve` | add jobs, nodes and reports to a session; use time up to the limits | name files or programs; exceed the limits of size and rate |": (
        "entry_points/test_requests.py::test_every_text_of_an_event",
        "service/test_service.py::test_limits",
        "service/test_service.py::test_the_rate_is_that_of_each_client",
    ),
    "| messages to `mcp` | read `.gsm` files and data in the folder of the server; use time and memory up to [its limits](docs/reference/assistants.md#limits) | write files, leave the folder (the server's option `--allow-outside` lifts this for imports and data), run programs, reach the network |": (
        "entry_points/test_assistant_calls.py::test_every_text_of_every_tool",
        "assistants/test_server.py::test_files_of_a_call_and_of_the_folder",
        "assistants/test_server.py::test_limits_of_time_and_size",
    ),
    "What each input can name, and what of it is used:": (
        "security/test_security_page.py::test_every_sentence_has_its_test",
    ),
    "| `.gsm` text | files to import | `.gsm` files of its folder and of the library |": (
        "language/test_project_root.py::test_no_import_leaves_a_marked_project",
        "language/test_project_root.py::test_without_the_marker_the_folder_of_the_main_file_is_the_limit",
    ),
    "| `.gsm` text | data files, also those that a setting or a campaign puts in their place | files of its folder and of the library, without links that lead out of it |": (
        "security/test_named_by_inputs.py::test_data_files_that_settings_put_in_place",
        "data/test_files.py::test_links_do_not_lead_out",
    ),
    "| `.gsm` text | formats, generators, distributions, rules | those of gsdsl and of installed packages, by name |": (
        "security/test_named_by_inputs.py::test_formats_generators_distributions_and_rules",
    ),
    "| `.gsm` text | methods, fallbacks, judges and members of portfolios, also by factors of a campaign | solvers and policies |": (
        "security/test_text_options.py::test_no_factor_names_a_program",
    ),
    "| `.gsm` text | options of solvers, also by factors of a campaign | listed numbers, switches and choices |": (
        "security/test_text_options.py::test_options_of_tests_and_campaigns",
        "security/test_text_options.py::test_no_allowed_option_of_an_installed_solver_is_a_text",
        "security/test_text_options.py::test_a_worker_checks_options",
    ),
    "| `.gsm` text | the warm start of a campaign | a policy, or a result in its folder |": (
        "security/test_text_options.py::test_warm_starts_stay_in_the_folder",
        "security/test_text_options.py::test_a_policy_as_a_start_is_never_a_file",
    ),
    "| data file | nothing | the log beside a SQLite database is read from a copy, if it is a plain file |": (
        "security/test_named_by_inputs.py::test_labels_of_data",
        "data/test_sqlite_files.py::test_a_log_that_is_no_file_is_refused",
    ),
    "| problem, settings, result as a warm start | kinds of terms and distributions | those of gsdsl and of installed packages, by name |": (
        "security/test_named_by_inputs.py::test_problems",
        "security/test_named_by_inputs.py::test_results_as_warm_starts_and_settings",
    ),
    "| journal | the method, the fallback and the model of the run | nothing: they are compared with those that the command gives |": (
        "entry_points/test_journals.py::test_every_text_of_a_header",
        "entry_points/test_journals.py::test_every_text_of_a_recorded_event",
    ),
    "| store of a campaign, its lock file | runs and hashes of their inputs | nothing: files of the store are found by keys of the campaign |": (
        "security/test_named_by_inputs.py::test_stores",
    ),
    "| live events | jobs, nodes, parameters | labels |": (
        "entry_points/test_requests.py::test_every_text_of_an_event",
    ),
    "| request to `serve` | a session, its method and fallback | a name of letters, digits, `_`, `.` and `-`; solvers and policies |": (
        "entry_points/test_requests.py::test_every_text_of_a_new_session",
        "entry_points/test_requests.py::test_names_of_sessions",
        "entry_points/test_requests.py::test_the_program_of_the_command_line",
    ),
    "| message to `mcp` | files, pages, tasks | `.gsm` files and data of the server's folder, the documentation |": (
        "entry_points/test_assistant_calls.py::test_every_text_of_every_tool",
    ),
    "| object of a cluster | jobs, nodes, values in annotations | labels and numbers |": (
        "entry_points/test_cluster_objects.py::test_every_text_of_an_observation",
        "entry_points/test_cluster_objects.py::test_every_text_of_slurm",
        "entry_points/test_cluster_objects.py::test_every_text_of_kubernetes",
    ),
    "A model of others may be wrong or expensive: limit it with `--memory-limit` and `--time-limit`, and run unknown models on a server only within limits of the operating system.": (
        "cli/test_usage.py::test_running_out_of_memory_is_no_defect",
    ),
    "`gsdsl mcp` ends such a process.": ("assistants/test_server.py::test_a_call_that_does_not_end_is_stopped",),
    "Processes that gsdsl starts for itself never import Python files from the working folder or the folder of a model.": (
        "test_foreign_folders.py::test_nothing_is_imported_from_the_folder",
        "test_foreign_folders.py::test_every_process_ignores_the_working_folder",
    ),
    "**HTML pages** contain names from data as text, never as markup, and their content security policy admits only the page's own scripts and no network.": (
        "reporting/pages/test_solve_pages.py::test_names_cannot_become_markup",
        "security/test_security_page.py::test_pages_admit_no_network",
    ),
    "**CSV files** of results, comparisons and campaigns have a `'` before each text or heading that a spreadsheet could read as a formula ([the rule](docs/reference/result.md#csv)).": (
        "reporting/test_result.py::test_csv_cells_of_any_kind_are_no_formulas",
        "reporting/test_result.py::test_no_other_function_writes_results_as_csv",
    ),
    "`gsdsl trace` and `gsdsl profile` write data that models read again: labels are as in the source.": (
        "security/test_security_page.py::test_traces_keep_labels",
    ),
    "**Figures, JSON, LP and MPS files** contain names of the model and its data, in LP and MPS reduced to the characters that these formats allow.": (
        "backends/test_writers.py::test_names_become_printable_and_stay_unique",
    ),
    "**Terminals** get `�` in place of each character of texts, names and data that could control them, whatever the command.": (
        "security/test_terminals.py::test_no_command_prints_what_controls_a_terminal",
        "security/test_terminals.py::test_bytes_to_a_terminal_are_filtered_too",
    ),
    "Tables, summaries and diagnostics have it in pipes and files, too; documents, such as `fmt`, `export`, CSV and JSON, are written there as they are.": (
        "security/test_terminals.py::test_notes_and_results_are_harmless_in_pipes_too",
        "security/test_terminals.py::test_pipes_get_documents_as_they_are",
    ),
    "`gsdsl serve` needs a token for each client, or `--no-token` on an address of this machine only.": (
        "service/test_service.py::test_tokens",
        "service/test_service.py::test_what_keeps_a_service_from_starting",
    ),
    "`serve` and `drive` warn of files of tokens and keys that other users can read.": (
        "security/test_secrets.py::test_secrets_that_others_can_read",
        "security/test_secrets.py::test_commands_tell_it",
    ),
    "Tokens are compared by their hashes.": ("security/test_security_page.py::test_tokens_are_kept_as_hashes",),
    "It answers only requests whose `Host` is a name of the service and that do not come from the page of another site, and reads only bodies with `Content-Type: application/json`.": (
        "entry_points/test_requests.py::test_requests_of_other_sites",
        "entry_points/test_requests.py::test_bodies_of_other_types",
    ),
    "Methods and fallbacks of requests are policies and solvers, and programs only as the command line of the service names them.": (
        "entry_points/test_requests.py::test_every_text_of_a_new_session",
        "entry_points/test_requests.py::test_the_program_of_the_command_line",
    ),
    "Sessions run in threads of one process: a client can delay others within the limits of requests.": (
        "service/test_service.py::test_a_defect_ends_only_its_session",
        "service/test_service.py::test_the_rate_is_that_of_each_client",
    ),
    "`gsdsl mcp` speaks over standard input and output with the program that started it; it opens no port.": (
        "assistants/test_server.py::test_the_server_ends_with_its_client",
    ),
    "`gsdsl lsp` reads the files that the editor opens, their imports and the open folders.": (
        "editor/test_server.py::test_a_session_of_an_editor",
    ),
    "Its code lenses run `solve` and `test` on a file only when the user asks.": (
        "editor/test_features.py::test_outline_folds_and_lenses",
    ),
    "`gsdsl drive` only observes without `--act`.": (
        "clusters/drivers/test_driver_faults.py::test_shadow_mode_changes_nothing",
    ),
    "With it, guard rails limit changes per round, and each object is read again before it is changed.": (
        "clusters/drivers/test_driver_faults.py::test_the_number_of_changes_per_hour_is_limited",
        "clusters/drivers/test_real_kueue.py::test_a_change_at_the_same_time",
    ),
    "The roles in `deploy/` allow observing and acting apart; give a driver no more than its role.": (
        "clusters/drivers/test_real_kueue.py::test_the_roles_are_enough_and_no_more",
        "clusters/drivers/test_real_scheduler.py::test_the_roles_are_enough_and_no_more",
    ),
    "`pip install .` installs the packages of `pyproject.toml` without pins; use a lock file of your own where builds must be repeated.": (
        "security/test_security_page.py::test_dependencies_have_no_pins",
    ),
    "Solvers are native code that reads only the problems that gsdsl builds, in processes of their own on the command line.": (
        "backends/test_isolated.py::test_the_command_line_keeps_what_else_it_found",
    ),
}
# Requests to people, and statements that gsdsl does not protect from something.
NO_PROMISES = (
    'Report it by the private form of the host of the repository: on its page *Security*, *Report a vulnerability* ("private vulnerability reporting").',
    "Only the maintainers see the report.",
    "If your copy of the repository has no such form, open a public issue that only asks for a private way, without details of the weakness.",
    "Do not describe it in public before there is a fix.",
    "gsdsl runs with the rights of its user and has no sandbox of its own.",
    "These inputs are programs, or name programs, and must come from people you trust:",
    "the command line:",
    "the kernel cache in the cache folder of the user (machine code).",
    "All other inputs may come from others.",
    "What each can do, and what limits it:",
    "The time limit does not cover reading and checking a text;",
    "Clients of one service see each other's sessions.",
    "Use `--tls-cert`, or a proxy with TLS, on other addresses.",
)


@cache
def names_in(file: str) -> frozenset[str]:
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)", file_of_test(file).read_text(encoding="utf-8"), re.M))


def test_every_sentence_has_its_test() -> None:
    written = sentences()
    assert [one for one in written if one not in TESTS and one not in NO_PROMISES] == []
    assert [one for one in (*TESTS, *NO_PROMISES) if one not in written] == []
    for tests in TESTS.values():
        for test in tests:
            file, _, name = test.partition("::")
            assert name in names_in(file), test


def test_every_row_of_the_table_of_names_is_a_promise() -> None:
    assert sum(one.startswith("| `.gsm` text | ") for one in TESTS) == 6
    assert not any(one.startswith("|") for one in NO_PROMISES)


# --- promises without a test elsewhere -------------------------------------------------------------------------------


def test_no_format_with_code_is_read() -> None:
    """Nothing in the readers of data calls a module that executes what it reads."""
    core, clusters = package_folders()["gpusched_dsl"], package_folders()["gsdsl_clusters"]
    readers = (clusters / "formats", clusters / "kubernetes_objects", package_folders()["gsdsl_formats"])
    for folder in (core / "data", core / "ir", core / "profiles", *readers):
        assert folder.is_dir()
        for path in folder.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"^ *(import|from) (pickle|marshal|shelve|dill|yaml|ctypes)\b", text, re.M), path
            assert not re.search(r"(?<![\w.])(eval|exec)\(|load_extension|allow_pickle=True", text), path


MODEL = """model M "a & <b>" { set S; param w[S] in $; var x[s in S] integer >= 0 <= 3; maximize f: sum[s in S] w[s] * x[s]; }
scenario V for M { S = { "a = 1; <b>\\\\ [c]" };  w = [1][$]; }
"""


def test_pages_admit_no_network() -> None:
    page = unescape(gs.loads(MODEL).solve("V").html_text())
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"', page)
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";") if rule.strip()}
    assert rules["default-src"] == ["'none'"]
    assert not any(part.startswith(("http", "*", "ws", "//")) for parts in rules.values() for part in parts)
    assert "'unsafe-inline'" not in rules["script-src"]


def test_traces_keep_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = (
        (ROOT / "edges" / "formats" / "tests" / "traces" / "samples" / "elasticflow.csv")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    (tmp_path / "jobs.csv").write_text(f"{sample[0]}\n=1+1,{sample[1].partition(',')[2]}\n", encoding="utf-8")
    assert main(["trace", str(tmp_path / "jobs.csv"), "--as", "elasticflow", "--csv", "-"]) == 0
    assert "\n=1+1," in capsys.readouterr().out


def test_tokens_are_kept_as_hashes(tmp_path: Path) -> None:
    secret = "0123456789abcdef0123"
    (tmp_path / "tokens").write_text(f"a {secret}\n", encoding="utf-8")
    tokens = read_tokens(tmp_path / "tokens")
    assert secret not in repr(tokens)
    assert [len(known) for known in tokens.clients] == [32]
    assert tokens.client(f"Bearer {secret}") == "a"
    assert tokens.client(f"Bearer {secret[:-1]}") is None


def test_dependencies_have_no_pins() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not [one for one in project["dependencies"] if "==" in one]
