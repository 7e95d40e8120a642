"""A stand-in for the model on this machine's loopback: it keeps every request, and answers as a test tells it."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Turn = dict[str, Any]


def say(text: str) -> Turn:
    """Return a turn that ends with a text."""
    return {"text": text}


def bash(command: str) -> Turn:
    """Return a turn in which the model calls Bash."""
    return {"tool": "Bash", "input": {"command": command, "description": "a command"}}


def skill(name: str) -> Turn:
    """Return a turn in which the model calls a skill."""
    return {"tool": "Skill", "input": {"skill": name}}


def refuse(status: int) -> Turn:
    """Return a turn that the service answers with an error."""
    return {"error": status}


HOLD: Turn = {"hold": True}  # never answered


class Model:
    """The service; `turns` answer the requests of the main loop in order, `always` those past their end."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.turns: list[Turn] = []
        self.always: Turn = say("ok")
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def take(self, request: dict[str, Any]) -> Turn:
        """Keep a request; return what answers it. Titles and the like have no tools and eat no turn."""
        with self._lock:
            if not any(tool.get("name") == "Bash" for tool in request.get("tools", [])):
                return say("ok")
            self.requests.append(request)
            return self.turns.pop(0) if self.turns else self.always

    def seen(self, number: int = -1) -> str:
        """Return everything that a request of the main loop shows to the model."""
        return text_of(self.requests[number])

    def close(self) -> None:
        """Stop; whoever is held is let go."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: Model) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(b"{}")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if "/v1/messages" not in self.path or "count_tokens" in self.path:
            return self._answer(b'{"input_tokens": 1}')
        request = json.loads(body)
        turn = self.server.model.take(request)
        if "hold" in turn:
            self.server.model.closing.wait()
            self.close_connection = True
        elif "error" in turn:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "refused"}}
            self._answer(json.dumps(error).encode(), status=turn["error"])
        elif request.get("stream"):
            events = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in _stream(turn))
            self._answer(events.encode(), "text/event-stream")
        else:
            block = {"type": "text", "text": turn.get("text", "")}
            self._answer(json.dumps({**_message(), "content": [block], "stop_reason": "end_turn"}).encode())

    def _answer(self, body: bytes, kind: str = "application/json", status: int = 200) -> None:
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except OSError:
            self.close_connection = True  # the client was killed meanwhile


def text_of(request: dict[str, Any]) -> str:
    """Return the text in a request: the system's, and all messages'."""
    return "\n".join([*_texts(request.get("system")), *_texts(request.get("messages"))])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(item)


def _message() -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    fields = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []}
    return {**fields, "stop_reason": None, "stop_sequence": None, "usage": usage}


def _stream(turn: Turn) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _message()}
    if "tool" in turn:
        block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": turn["tool"], "input": {}}
        delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(turn["input"])}, "tool_use"
    else:
        block = {"type": "text", "text": ""}
        delta, stop = {"type": "text_delta", "text": turn["text"]}, "end_turn"
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None},
        "usage": {"output_tokens": 1},
    }
    yield {"type": "message_stop"}
