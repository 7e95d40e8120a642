"""The drain: what a hook, the skill or a person calls to see an agent's mail; `hooks/drain-inbox` starts it.

It exits 0 within its time whatever happens, and leaves unread what it could not show.
"""

from __future__ import annotations

import os
import sys
import time

from a2a_watch.codec import dump
from a2a_watch.inbox import Inbox, NotShown, Outcome, Visit
from a2a_watch.light.event import Event, read_event
from a2a_watch.light.identity import Identity, Surroundings
from a2a_watch.light.page import Page, fit, summary
from a2a_watch.light.process import is_gone, name_client, name_process
from a2a_watch.names import Problem
from a2a_watch.receipts import key_of

HOOK_BUDGET = 9_900  # the client passes a text of 10,000 on whole and swallows a longer one
BASH_BUDGET = 28_000  # a skill's or a Bash command's output may be 30,000
PERSON_COLUMNS = 100
DRAINING = ("SessionStart", "UserPromptSubmit")  # the events whose text reaches the model
USAGE = """usage: drain-inbox [--receipts]

Show what waits for this agent, and archive it: by hand it counts as read at once.
A hook's JSON on standard input names the event and the session.
--receipts   mail counts as read only after the session's Stop; for handlers installed together
"""


class Run:
    """One run of the drain: who is asked for, by whom, and how to speak to them."""

    def __init__(self, here: Surroundings, event: Event | None, receipts: bool, heard: bool, parent: str) -> None:
        self.here, self.event, self.heard = here, event, heard
        session = (event.session if event else "") or here.session
        self.spoke = False  # a second JSON object would make the client drop the first
        self.key = key_of(session) if receipts and session else ""
        # By hand, the parent is a shell that may be gone at once; the session's own hook has left its process.
        self.process = name_process(here.client_pid) if here.client_pid else name_client(parent) if event else ""

    def go(self) -> None:
        """Do what the event asks for."""
        event = self.event
        if (event and event.subagent) or (not event and self.here.is_hook and (self._unattended() or not self.heard)):
            return  # a hook whose client says nothing must not show mail to nobody
        identity = Identity(self.here)
        inbox = Inbox(self.here.root(), identity.name())
        inbox.check()
        try:
            os.stat(inbox.folder)
        except FileNotFoundError:
            return
        now = time.time()
        if event and event.name in ("Stop", "SessionEnd"):
            if self.key:
                (inbox.confirm if event.name == "Stop" else inbox.give_back)(self.key, now)
        elif not event or event.name in DRAINING:
            project = identity.project_root if identity.answer.rule in (2, 3) else ""
            self._drain(inbox, Visit(now, self.key, self.process, event.name if event else "", project))

    def _unattended(self) -> bool:
        return self.here.unattended and not self.here.drains_unattended

    def _drain(self, inbox: Inbox, visit: Visit) -> None:
        event = self.event
        if event:
            if event.source == "compact" or self._unattended():
                return
            if event.runs_skill():
                if self.key and inbox.pending():
                    inbox.remember(visit)
                return
        budget = HOOK_BUDGET if event or self.here.is_hook else BASH_BUDGET if self.here.is_claude else 0
        archive = self.here.short(inbox.path(".read")) + "/"
        # Whoever confirms was installed together with the skill.
        more = "`/check-inbox`" if self.key else "the next prompt" if event else "`drain-inbox`, once more,"
        counts_bytes, in_skill = bool(event) and not self.here.is_claude, not event and self.here.is_claude
        page = Page(inbox.agent, archive, visit.now, budget, counts_bytes, more, in_skill)
        outcome = inbox.drain(visit, page.add, lambda found: self._show(page, found, inbox), is_gone)
        if not outcome.names:
            self.tell(self._notes(outcome, inbox))

    def _show(self, page: Page, outcome: Outcome, inbox: Inbox) -> None:
        text, notes = page.text(outcome.waiting), self._notes(outcome, inbox)
        self.spoke = True
        if self.event:
            # What is ours comes first: behind it stands what senders chose.
            line = " · ".join([*notes, summary(page.fields, outcome.waiting, PERSON_COLUMNS)])
            context = {"hookEventName": self.event.name, "additionalContext": text}
            _write({"hookSpecificOutput": context, **({"systemMessage": line} if self.here.is_claude else {})})
        else:
            _write(text)
            self.tell(notes)

    def _notes(self, outcome: Outcome, inbox: Inbox) -> list[str]:
        notes = []
        if outcome.busy and inbox.pending():
            notes.append("mail for %s waits, but another program holds its lock; try: once more, later" % inbox.agent)
        if outcome.bad:
            where = self.here.short(inbox.path(".bad"))
            what = "1 file is" if len(outcome.bad) == 1 else "%d files are" % len(outcome.bad)
            notes.append("%s no message and set aside; try: ls -l %s" % (what, where))
        if outcome.unreadable:
            notes.append(
                "cannot read %s; try: ls -l %s" % (", ".join(outcome.unreadable), self.here.short(inbox.folder))
            )
        if outcome.shared_with:
            notes.append("%s shares the inbox %s; to part them: echo NEW-NAME > .agent-id"
                         % (self.here.short(outcome.shared_with), inbox.agent))  # fmt: skip
        return [fit(note, PERSON_COLUMNS * 3) for note in notes]

    def tell(self, notes: list[str]) -> None:
        """Say something to the person, who is at the client's screen or at this terminal."""
        if notes and not self.event:
            os.write(2, "".join("drain-inbox: %s\n" % note for note in notes).encode("utf-8", "backslashreplace"))
        elif notes and self.event and self.event.name in DRAINING and self.here.is_claude and not self.spoke:
            _write({"systemMessage": " · ".join(["a2a: " + notes[0], *notes[1:]])})


def _write(output: str | dict[str, object]) -> None:
    data = written = (output if isinstance(output, str) else dump(output)).encode()
    while data:
        try:
            data = data[os.write(1, data) :]
        except OSError as error:
            raise (NotShown(*error.args) if data is written else error) from None


def _occupy_closed_streams() -> None:
    # Otherwise the next file opened here would take that number, and the mail would be printed into it.
    for handle in (0, 1, 2):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # writing to it fails, as to a closed one


def main() -> int:
    """Run the drain: `drain-inbox [--receipts]`, the parent's process number as the last argument."""
    _occupy_closed_streams()
    *arguments, parent = sys.argv[1:]
    if set(arguments) & {"-h", "--help"}:
        _write(USAGE)
        return 0
    run = None
    try:
        event, heard = read_event(0)
        run = Run(Surroundings(), event, "--receipts" in arguments, heard, parent)
        for word in set(arguments) - {"--receipts"}:
            # A misspelt --receipts must not turn into mail that counts as read at once.
            raise Problem("%s is no option of drain-inbox, and no mail was touched" % ascii(word), "drain-inbox --help")
        run.go()
    except Exception as error:
        # The one boundary: a hook never disrupts a session, and what was not shown is still pending.
        _explain(run, error)
    return 0


def _explain(run: Run | None, error: Exception) -> None:
    if isinstance(error, Problem):
        sentence = "%s; try: %s" % (error, error.fix)
    elif isinstance(error, OSError):
        where = error.filename if isinstance(error.filename, str) else "~/.claude/inbox"
        sentence = "the inbox cannot be used (%s), and mail stays in it; try: ls -ld %s" % (
            error.strerror or error,
            where,
        )
    else:
        sentence = "the inbox cannot be used (%s: %s); try: a2a-id --explain" % (type(error).__name__, error)
    try:
        if run:
            run.tell([fit(sentence, PERSON_COLUMNS * 3)])
    except OSError:
        pass  # nobody listens
