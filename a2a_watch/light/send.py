"""a2a-send: leave a note for another agent. What it says it sent is on the disk."""

from __future__ import annotations

import errno
import os
import sys
import time

from a2a_watch import durable
from a2a_watch.inbox import Inbox
from a2a_watch.light.delivery import Delivery, Ids
from a2a_watch.light.identity import Identity, Surroundings
from a2a_watch.light.lookup import agents, find
from a2a_watch.message import ABSENT, FIELDS, MAX_BYTES, READ_LIMIT, NotAMessage, decode, one_line
from a2a_watch.names import Problem, agent_name

STDOUT, STDERR = 1, 2
USAGE = """usage: a2a-send TO[,TO…] [--subject S] [BODY]
       a2a-send --reply ID [--subject S] [BODY]

Leave a note in another agent's inbox; its next session has it in front of it.
BODY is the last argument, --file F, or standard input (- or nothing):

    a2a-send project-b --subject "Bumped the shared API" <<'EOF'
    When you get this: pull the shared config and re-run your build.
    EOF

--reply ID   answer a message of my own inbox, pending or read; the beginning of its id will do
--json       print the messages that were written, one line each
"""


class Misuse(Problem):
    """The command line makes no sense; exit 2."""


class Request:
    """The command line, taken apart; raises Misuse."""

    def __init__(self, arguments: list[str]) -> None:
        self.help = False
        values: dict[str, str | None] = {"--subject": None, "--file": None, "--reply": None}
        words, self.json, plain = [], False, False
        queue = list(arguments)
        while queue:
            word = queue.pop(0)
            option, equals, value = word.partition("=")
            # A body may well begin with a dash, an option never holds a blank.
            is_text = word == "-" or not word.startswith("-") or len(word.split(None, 1)) > 1
            if plain or (is_text and not (equals and option in values)):
                words.append(word)
            elif word == "--":
                plain = True
            elif word == "--json":
                self.json = True
            elif word in ("-h", "--help"):
                self.help = True
                return
            elif option not in values:
                raise Misuse("%s is no option of a2a-send" % ascii(word), "a2a-send --help, or -- before the body")
            elif not equals and not queue:
                raise Misuse("%s needs a value" % option, "a2a-send --help")
            else:
                values[option] = value if equals else queue.pop(0)
        self.subject, self.file, self.reply = values["--subject"], values["--file"], values["--reply"]
        self.to = words.pop(0) if self.reply is None and words else ""
        if not self.to and self.reply is None:
            raise Misuse("nobody to send to", "a2a-send --help")
        if len(words) > 1 or (words and self.file is not None):
            raise Misuse(
                "more than one body, the last %s" % ascii(words[-1]), "one body, in quotes: a2a-send TO 'BODY'"
            )
        self.body = words[0] if words else None

    def read_body(self) -> str:
        """Return the body from wherever it comes, byte for byte; raises Misuse when there is none."""
        if self.file is not None:
            try:
                with open(self.file, "rb") as file:
                    raw = file.read(MAX_BYTES + 1)
            except OSError as error:
                raise Problem("%s: %s" % (self.file, error.strerror), "ls -l %s" % self.file) from None
        elif self.body is None or self.body == "-":
            raw = b"" if os.isatty(0) and self.body is None else _read_input()
        else:
            raw = os.fsencode(self.body)
        if len(raw) > MAX_BYTES:
            raise Problem("the body has too many bytes, %d are allowed" % MAX_BYTES, "send the path of a file")
        if not raw.strip():
            raise Misuse("nothing to send", "a body: a last argument in quotes, --file F, or standard input")
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise Problem("the body is not UTF-8 at byte %d" % error.start, "iconv -f latin1 -t utf-8") from None


def _read_input() -> bytes:
    raw = b""
    try:
        while len(raw) <= MAX_BYTES and (more := os.read(0, 1 << 16)):
            raw += more
    except OSError:
        pass  # standard input is closed
    return raw


def send(arguments: list[str]) -> int:
    """Send what the command line says; return the exit status, raise Problem with nothing sent."""
    request, here = Request(arguments), Surroundings()
    if request.help:
        _say(USAGE, STDOUT)
        return 0
    identity, root = Identity(here), here.root()
    me = identity.name()
    recipients, subject = _address(request, root, me)
    body, ids, deliveries = request.read_body(), Ids(), []
    for to in recipients:
        id_, timestamp = ids.next(time.time_ns(), os.urandom(8))
        fields = dict(zip(FIELDS, (id_, me, to, timestamp, subject, body)))  # noqa: B905
        try:
            delivery = Delivery(Inbox(root, to), fields)
        except UnicodeEncodeError:
            raise Problem("the subject is not UTF-8", "a2a-send --subject S with plain text") from None
        if len(delivery.data) > MAX_BYTES:
            raise Problem("the message has %d bytes, %d are allowed" % (len(delivery.data), MAX_BYTES),
                          "send the path of a file")  # fmt: skip
        delivery.inbox.check()
        deliveries.append(delivery)
    if identity.answer.rule == len(identity.answers):
        _say("a2a-send: this folder has no name, so nobody can answer; try: echo NAME > .agent-id\n", STDERR)
    known = agents(root)
    failure = _deliver(deliveries)
    for delivery in deliveries:
        if delivery.sent:
            _report(delivery, me, known, request.json)
    if failure:
        raise failure
    return 0


def _address(request: Request, root: str, me: str) -> tuple[list[str], str]:
    if request.reply is None:
        # A folder name may hold a comma; when such an inbox is there, it is meant.
        one = "," not in request.to or (durable.exists(os.path.join(root, request.to)) and "/" not in request.to)
        names = [request.to] if one else [name.strip() for name in request.to.split(",")]
        try:
            return list(dict.fromkeys(map(agent_name, names))), request.subject or ""
        except Problem as problem:
            raise Misuse(str(problem), "a2a-send --help") from None
    inbox, folder, name = find(root, [me], request.reply)
    file = durable.read(inbox.path(folder, name), READ_LIMIT)
    try:
        old = decode(file[0]) if file else {}
        to = [agent_name(old.get("from", ""))]
    except (NotAMessage, Problem):
        to = []
    if not to or to == [ABSENT]:
        raise Problem("%s has no sender that could be answered" % one_line(name, 300), "a2a-send TO …")
    subject = "" if old["subject"] == ABSENT else old["subject"]
    answer = subject if subject.lower().startswith("re:") else ("re: " + subject).rstrip()
    return to, answer if request.subject is None else request.subject


def _deliver(deliveries: list[Delivery]) -> Problem | None:
    # Order: every message is whole on the disk before the first is published.
    try:
        for delivery in deliveries:
            delivery.write()
        for delivery in deliveries:
            delivery.publish()
    except (OSError, KeyboardInterrupt) as error:
        for one in reversed(deliveries):
            one.undo()
        sent = [one.inbox.agent for one in deliveries if one.sent]
        but = "; sent to %s before that" % ", ".join(sent) if sent else "; nothing was sent"
        if delivery.published and not delivery.sent:
            but = "; it is there, but may not survive a power cut" + but.replace("nothing was", "nothing else was")
        why = error.strerror if isinstance(error, OSError) else "interrupted"
        root = delivery.inbox.root
        fix = "df -h %s; ls -ld %s" % (root, root)
        if isinstance(error, OSError) and error.errno == errno.EROFS:
            fix = "a2a-watch setup, then a new session: a sandbox opens the inbox only when it starts"
        return Problem("%s: %s%s" % (delivery.inbox.folder, why, but), fix)
    return None


def _report(delivery: Delivery, me: str, known: list[str], as_json: bool) -> None:
    if delivery.inbox.agent not in known:
        _hint(delivery, known)
        delivery.explain_root()
    try:
        delivery.inbox.refresh_marker(time.time(), {delivery.name: delivery.fields})
    except OSError:
        pass  # the message is safe, and the marker is only a hint
    line = "sent: %s -> %s (%s)\n" % (me, delivery.inbox.agent, delivery.fields["id"])
    _say(delivery.data.decode() if as_json else line, STDOUT)


def _hint(delivery: Delivery, known: list[str]) -> None:
    from difflib import get_close_matches
    from shlex import quote

    line, near = "this is the first mail for %s" % delivery.inbox.agent, get_close_matches(delivery.inbox.agent, known)
    if near:
        path = one_line(delivery.inbox.path(delivery.name), 4096)
        line += "; did you mean %s? to take it back: rm %s" % (" or ".join(one_line(n, 200) for n in near), quote(path))
    _say("a2a-send: %s\n" % line, STDERR)


def _say(text: str, handle: int) -> None:
    try:
        os.write(handle, text.encode("utf-8", "backslashreplace"))
    except OSError:
        pass  # nobody listens, and the message is sent all the same


def main() -> int:
    """Run the command; exit 0 sent, 1 not sent, 2 misuse."""
    arguments = sys.argv[1:]
    try:
        return send(arguments)
    except Problem as problem:
        _say("a2a-send: %s\n" % one_line("%s; try: %s" % (problem, problem.fix), 2000), STDERR)
        return 2 if isinstance(problem, Misuse) else 1
    except KeyboardInterrupt:
        return 130
