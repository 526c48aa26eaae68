"""Options of the commands for real clusters: `inspect`, `drive` and `serve`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.runs import add_run_choice
from gpusched_dsl.cli.arguments.shared import (
    ONLINE_HELP,
    add_csv,
    add_html,
    add_json,
    add_memory_limit,
    add_methods,
    add_seed,
)
from gpusched_dsl.cli.arguments.values import listening_address, path, port_number, positive_number, sample_count

INSPECT_HELP = "`slurm`, a kubeconfig, saved outputs of Slurm or kubectl, records of sacct, or a trace of jobs"


def add_inspect_options(parser: Parser) -> None:
    parser.add_argument("source", type=path, metavar="SOURCE", help=INSPECT_HELP)
    parser.add_argument("--commands", action="store_true", help="with `slurm`: print commands that save what is read")
    parser.add_argument("--as", dest="format", metavar="FORMAT", help="its format, if it is not recognised")
    parser.add_argument(
        "--timezone", default="UTC", metavar="ZONE", help="time zone of its times, such as Europe/Berlin (default: UTC)"
    )
    parser.add_argument(
        "--nodes", metavar="NODES", help="nodes of a source with jobs only: 20x8, 20x8:a100,4x4:v100, or a CSV file"
    )
    parser.add_argument("--price", type=positive_number, metavar="DOLLARS", help="price of a GPU-hour")
    parser.add_argument(
        "--write", type=path, metavar="FOLDER", help="write a model of the cluster, its data and a cluster file there"
    )
    add_seed(parser, "seed of the drawn futures")
    add_json(parser, "the inspection")
    add_csv(parser, "write each table to a file in a folder", "DIR")
    add_html(parser)
    add_memory_limit(parser)


def add_drive_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help="the cluster file, such as cluster.toml")
    parser.add_argument(
        "--init", choices=["slurm", "kueue", "kubernetes"], metavar="DRIVER",
        help="write a model and a cluster file of the live cluster into the folder FILE: slurm, kueue, kubernetes",
    )  # fmt: skip
    parser.add_argument("--act", action="store_true", help="change the cluster; without it only watch and record")
    parser.add_argument("--check", action="store_true", help="observe once, show the nodes and the data of the jobs")
    parser.add_argument(
        "--report", action="store_true", help="compare the recorded jobs of the cluster with what a plan had cost"
    )
    parser.add_argument(
        "--metrics", type=listening_address, metavar="[HOST:]PORT", help="serve metrics for Prometheus at /metrics"
    )
    parser.add_argument("--rounds", type=sample_count, metavar="N", help="end after N observations (default: never)")
    add_methods(parser, "with --report: compare these methods (default: those of the cluster file)")
    add_json(parser, "the comparison")
    add_html(parser)
    parser.add_argument("--allow-outside", action="store_true", help="read files outside the folder of the model")


def add_serve_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help=ONLINE_HELP)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=port_number, default=8765, help="port to listen on (default: 8765; 0: any)")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME",
        help="another name of the service in requests, such as that of a proxy (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--token-file", type=path, metavar="FILE", help="lines `NAME TOKEN`: the clients of the service"
    )
    parser.add_argument("--no-token", action="store_true", help="accept everybody, on addresses of this machine only")
    parser.add_argument("--records", type=path, metavar="DIR", help="record the sessions here, and continue them")
    parser.add_argument(
        "--max-sessions", type=sample_count, default=16, metavar="N", help="most sessions (default: 16)"
    )
    parser.add_argument(
        "--max-body",
        type=sample_count,
        default=4 << 20,
        metavar="BYTES",
        help="most bytes of a request (default: 4 MiB)",
    )
    parser.add_argument(
        "--rate", type=sample_count, default=50, metavar="N", help="most requests of a client per second (default: 50)"
    )
    parser.add_argument("--tls-cert", type=path, metavar="FILE", help="certificate for HTTPS")
    parser.add_argument("--tls-key", type=path, metavar="FILE", help="key of the certificate")
    add_run_choice(parser)
