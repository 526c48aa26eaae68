"""The protocol of the server: messages whose parameters have wrong types are answered as such, and end nothing."""

from __future__ import annotations

import logging
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage


class GsmProtocol(LanguageServerProtocol):
    """Answers requests that cannot be read with InvalidParams (-32602); pygls leaves them without an answer."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The message of a JSON object; if its parameters have wrong types, a message that is ignored."""
        if "jsonrpc" not in data or "method" not in data:
            return super().structure_message(data)
        method = data["method"]
        is_request = "id" in data
        plain = JsonRPCRequestMessage if is_request else JsonRPCNotification
        known = self.get_message_type(method) if isinstance(method, str) else None
        try:
            _require_number(data["id"] if is_request else 0)
            message = self._converter.structure(data, known or plain)
            _require_number(message.params.id if method == types.CANCEL_REQUEST else 0)
            return message
        except Exception as reason:
            about = f"the parameters of `{method}` do not have the types of the protocol"
            if is_request:
                error = types.ResponseError(JsonRpcInvalidParams.CODE, about, _fields(reason))
                number: Any = data["id"] if isinstance(data["id"], int | str) else None
                self._send_response(number, error=error)
            else:
                logging.getLogger(__name__).warning("%s: %s", about, _fields(reason))
            return JsonRPCNotification(method="$/ignored", jsonrpc=self.VERSION, params=None)


def _require_number(number: object) -> None:
    """Raise TypeError unless it can be the number of a request."""
    if not isinstance(number, int | str):
        raise TypeError(f"{number!r} is not the number of a request")


def _fields(reason: BaseException) -> str:
    """What is wrong, without a traceback: the last reasons of a failed conversion."""
    inner = getattr(reason, "exceptions", ())
    return "; ".join(dict.fromkeys(map(_fields, inner))) or f"{type(reason).__name__}: {reason}"


class WithoutExpected(logging.Filter):
    """Leaves out tracebacks of requests that the server refuses."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], JsonRpcInvalidParams):
            return False
        return record.getMessage() != "Ignoring notification for unknown method '$/ignored'"
