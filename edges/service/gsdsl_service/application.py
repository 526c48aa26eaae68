"""The HTTP interface of the service: requests to sessions, their answers, and errors as JSON with a code."""

from __future__ import annotations

import asyncio
import json
import queue
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from gpusched_dsl.data.sources.json_keys import RepeatedKey, repeated_key
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.live.messages import event_schema, line_of, record_schema
from gpusched_dsl.online.live.metrics import CONTENT_TYPE, Metrics
from gpusched_dsl.online.live.trial import Defect, plain_defect
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.workflows.estimate import SAMPLES, estimate_live
from gpusched_dsl.workflows.why import explain_live
from gsdsl_service.access import RateLimit, Tokens
from gsdsl_service.parameters import JSON, LINES, SHOWN, UNFIT, integer, media_type, unfit
from gsdsl_service.same_site import FOREIGN, OwnHosts
from gsdsl_service.session import SessionClosed
from gsdsl_service.sessions import CLOSED, LIMIT, UNKNOWN, NewSession, Sessions, state_of

UNAUTHORISED, DEFECT = "GSM5502", "GSM9999"
STATUS = {UNAUTHORISED: 401, FOREIGN: 403, UNKNOWN: 404, LIMIT: 429, UNFIT: 400, CLOSED: 409, DEFECT: 500,
          "GSM6021": 404, "GSM6022": 409, "GSM7021": 403}  # fmt: skip
MOST_SAMPLES = 1000
SLOWEST_BODY = 30.0  # seconds
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class RequestLimits:
    """`body` bytes and `events` of one request; `rate` requests per second of a client, `burst` at once."""

    body: int = 4 << 20
    events: int = 10_000
    rate: float = 50.0
    burst: float = 100.0


class RefusedRequest(Exception):
    """A request that is not served."""

    def __init__(
        self, diagnostic: Diagnostic, status: int | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic, self.headers = diagnostic, headers or {}
        self.status = STATUS.get(diagnostic.code, 422) if status is None else status


class Service:
    """The application over sessions. `stopping` refuses new work while the requests that run are finished."""

    def __init__(
        self,
        sessions: Sessions,
        tokens: Tokens,
        limits: RequestLimits,
        metrics: Metrics,
        defect: Defect = plain_defect,
        *,
        hosts: OwnHosts = OwnHosts(),  # noqa: B008 (frozen)
    ) -> None:
        self.sessions, self.tokens, self.limits, self.metrics = sessions, tokens, limits, metrics
        self.hosts = hosts
        self.stopping = False
        self.stop_server: Callable[[], None] = lambda: None  # set by the server
        self._defect = defect
        self._rate = RateLimit(limits.rate, limits.burst)

    def stop(self) -> None:
        """Refuse new work and let the server end after the requests that run."""
        self.stopping = True
        self.stop_server()

    def application(self) -> Starlette:
        one, job = "/v1/sessions/{session}", "/v1/sessions/{session}/jobs/{job:path}"
        routes = [
            self._route("/healthz", self._health, "GET", open=True),
            self._route("/readyz", self._ready, "GET", open=True),
            self._route("/metrics", self._metrics, "GET"),
            self._route("/v1/schema/{name}", self._schema, "GET"),
            self._route("/v1/sessions", self._list, "GET"),
            self._route("/v1/sessions", self._create, "POST"),
            self._route(one, self._show, "GET"),
            self._route(one, self._delete, "DELETE"),
            self._route(f"{one}/events", self._events, "POST"),
            self._route(f"{one}/decision", self._decision, "GET"),
            self._route(f"{job}/why", self._why, "GET"),
            self._route(f"{job}/estimate", self._estimate, "GET", query=("samples",)),
        ]
        handlers: Any = {HTTPException: self._http_error}
        return Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, application: Starlette) -> AsyncIterator[None]:
        yield
        self.stopping = True
        await run_in_threadpool(self.sessions.stop, 30.0)

    # --- every request -----------------------------------------------------------------------------------------------

    def _route(
        self, path: str, handler: Handler, method: str, *, open: bool = False, query: Sequence[str] = ()
    ) -> Route:
        async def endpoint(request: Request) -> Response:
            began = time.perf_counter()
            try:
                self._check_site(request)
                if not open:
                    self._admit(request)
                _check_query(request, query)
                answer = await handler(request)
            except Exception as failure:
                answer = self._failure_response(failure)
            self.metrics.requests.labels(method, path, str(answer.status_code)).inc()
            self.metrics.request_seconds.labels(path).observe(time.perf_counter() - began)
            return answer

        return Route(path, endpoint, methods=[method])

    def _check_site(self, request: Request) -> None:
        """Refuse requests to other hosts and from pages of other sites, with a token or without."""
        headers: dict[str, list[str]] = {}
        for name, value in request.headers.items():
            headers.setdefault(name.lower(), []).append(value)
        if (refusal := self.hosts.refusal(headers)) is not None:
            raise RefusedRequest(refusal)

    def _admit(self, request: Request) -> None:
        """Check the token, then the rate of its client."""
        client = self.tokens.client(request.headers.get("authorization"))
        if client is None:
            help = "send the header `Authorization: Bearer TOKEN`"
            diagnostic = Diagnostic(UNAUTHORISED, "the request has no valid token", help=help)
            raise RefusedRequest(diagnostic, headers={"WWW-Authenticate": "Bearer"})
        wait = self._rate.wait(client)
        if wait:
            message = f"more than {self.limits.rate:g} requests per second"
            raise RefusedRequest(Diagnostic(LIMIT, message, help="send several events in one request"), 429,
                          {"Retry-After": str(int(wait) + 1)})  # fmt: skip

    def _failure_response(self, failure: Exception) -> Response:
        match failure:
            case RefusedRequest():
                return _error(failure.diagnostic, failure.status, failure.headers)
            case DiagnosticError():
                first = failure.diagnostics[0]
                return _error(first, STATUS.get(first.code, 422), {}, failure.diagnostics)
            case SessionClosed():
                return _error(Diagnostic(CLOSED, str(failure), help="create a session with another name"), 409)
            case queue.Full():
                message = "too many requests wait for this session"
                return _error(Diagnostic(LIMIT, message, help="try again later"), 503, {"Retry-After": "1"})
            case ClientDisconnect():
                return Response(status_code=499)
        return _error(self._defect(failure), 500)

    async def _http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        known = error.status_code == 404
        message = f"there is nothing at {request.url.path[:200]}" if known else f"{request.method} is not allowed here"
        return _error(Diagnostic(UNKNOWN, message, help="docs/serve.md lists all paths"), error.status_code)

    async def _body(self, request: Request, *kinds: str) -> bytes:
        """The body, of one of the media types, within the limits of size and time.

        Pages of other sites cannot send these types without asking first, which the service never allows.
        """
        if media_type(request.headers.getlist("content-type")) not in kinds:
            help = f"send the header `Content-Type: {kinds[0]}`"
            diagnostic = Diagnostic(UNFIT, f"the body of the request is not stated to be {kinds[0]}", help=help)
            raise RefusedRequest(diagnostic, 415)
        most = self.limits.body
        too_large = RefusedRequest(
            Diagnostic(LIMIT, f"the request has more than {most} bytes", help="send fewer events"), 413
        )
        found = bytearray()
        try:
            async with asyncio.timeout(SLOWEST_BODY):
                async for chunk in request.stream():
                    found += chunk
                    if len(found) > most:
                        raise too_large
        except TimeoutError:
            raise RefusedRequest(
                Diagnostic(LIMIT, f"the request took more than {SLOWEST_BODY:g} s to arrive"), 408
            ) from None
        return bytes(found)

    # --- service -----------------------------------------------------------------------------------------------------

    async def _health(self, request: Request) -> Response:
        return _json({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        return _json({"status": "stopping" if self.stopping else "ready"}, 503 if self.stopping else 200)

    async def _metrics(self, request: Request) -> Response:
        states = Counter(session.state for session in self.sessions)
        for state in ("starting", "open", "ended", "stopped", "failed"):
            self.metrics.sessions.labels(state).set(states[state])
        for session in self.sessions:
            self.metrics.waiting.labels(session.name).set(session.waiting)
        return Response(self.metrics.text(), media_type=CONTENT_TYPE)

    async def _schema(self, request: Request) -> Response:
        schemas = {"online-event-1": event_schema, "online-decision-1": record_schema}
        name = request.path_params["name"].removesuffix(".json")
        if name not in schemas:
            raise RefusedRequest(
                Diagnostic(UNKNOWN, f"there is no schema `{name}`", help=f"there are {', '.join(schemas)}")
            )
        return _json(schemas[name]())

    # --- sessions ----------------------------------------------------------------------------------------------------

    async def _list(self, request: Request) -> Response:
        return _json({"sessions": [state_of(session) for session in self.sessions]})

    async def _create(self, request: Request) -> Response:
        if self.stopping:
            raise RefusedRequest(Diagnostic(CLOSED, "the service is stopping", help="try again later"), 503)
        try:
            body = await self._body(request, JSON)
            wanted = msgspec.json.decode(body, type=NewSession)
            key = repeated_key(body)
            if key is not None:
                raise RepeatedKey(key)
        except (RepeatedKey, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as failure:
            help = 'send an object such as `{"name": "prod", "method": "Greedy"}`'
            raise RefusedRequest(Diagnostic(UNFIT, f"the session does not fit: {failure}", help=help)) from failure
        session = await run_in_threadpool(self.sessions.create, wanted)
        return _json(state_of(session), 201)

    async def _show(self, request: Request) -> Response:
        return _json(state_of(self.sessions.get(request.path_params["session"])))

    async def _delete(self, request: Request) -> Response:
        session = await run_in_threadpool(self.sessions.remove, request.path_params["session"])
        self.metrics.forget(session.name)
        return _json(state_of(session))

    async def _events(self, request: Request) -> Response:
        session = self.sessions.get(request.path_params["session"])
        lines = lines_of(await self._body(request, JSON, LINES))
        if not lines:
            raise RefusedRequest(
                Diagnostic(UNFIT, "the request has no events", help="write one JSON object on each line")
            )
        if len(lines) > self.limits.events:
            raise RefusedRequest(Diagnostic(LIMIT, f"the request has more than {self.limits.events} events"), 413)
        answer = session.send(lines)
        return Response(await asyncio.shield(asyncio.wrap_future(answer)), media_type=LINES)

    async def _decision(self, request: Request) -> Response:
        decision = self.sessions.get(request.path_params["session"]).decision
        if decision is None:
            raise RefusedRequest(Diagnostic(UNKNOWN, "the session has not planned yet", help="send events first"))
        return Response(line_of(decision), media_type=JSON)

    # --- questions ---------------------------------------------------------------------------------------------------

    async def _why(self, request: Request) -> Response:
        session, job = self.sessions.get(request.path_params["session"]), request.path_params["job"]
        found = await asyncio.wrap_future(session.ask(lambda loop: explain_live(loop, job)))
        return _report(found)

    async def _estimate(self, request: Request) -> Response:
        session, job = self.sessions.get(request.path_params["session"]), request.path_params["job"]
        samples = integer("samples", request.query_params.getlist("samples"), SAMPLES, MOST_SAMPLES)
        found = await asyncio.wrap_future(session.ask(lambda loop: estimate_live(loop, job, samples=samples)))
        return _report(found)


def lines_of(body: bytes) -> list[bytes]:
    """The events of a body: JSON objects on lines, or one JSON array or object over several lines."""
    text = body.strip()
    if text[:1] == b"[":
        try:
            return [bytes(one) for one in msgspec.json.decode(text, type=list[msgspec.Raw])]
        except (msgspec.MsgspecError, RecursionError) as failure:
            help = "write one JSON object on each line"
            raise RefusedRequest(Diagnostic(UNFIT, f"the body is not JSON: {failure}", help=help)) from failure
    try:
        return [bytes(msgspec.json.decode(text, type=msgspec.Raw))] if text else []
    except (msgspec.MsgspecError, RecursionError):
        return [line for line in text.split(b"\n") if line.strip()]


def _check_query(request: Request, known: Sequence[str]) -> None:
    """Refuse parameters of a query that the path does not have: they would change nothing."""
    for name in request.query_params:
        if name not in known:
            listed = ", ".join(f"`{each}`" for each in known)
            help = f"it has {listed}" if known else "it has no parameters"
            raise unfit(f"this path has no parameter `{name[:SHOWN]}`", help)


def _json(content: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content) + b"\n", status, media_type=JSON)


def _report(report: Report) -> Response:
    """The document of a report on one line, as all answers are."""
    return Response(msgspec.json.format(report.json_text().encode(), indent=-1) + b"\n", media_type=JSON)


def _error(
    first: Diagnostic, status: int, headers: dict[str, str] | None = None, every: Sequence[Diagnostic] = ()
) -> Response:
    """An error: that of the request first, then all others."""
    found = [
        {"code": d.code, "message": d.message, "help": None if d.help is None else str(d.help)}
        for d in every or (first,)
    ]
    content = json.dumps({"error": found[0], "errors": found}) + "\n"
    return Response(content, status, headers=headers, media_type=JSON)
