"""Every link from a note to a model's context, tried one by one; nothing of the user's is changed."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote, split
from typing import Any

from a2a_watch import durable
from a2a_watch.install.change import read
from a2a_watch.install.interpreter import output_of, real_python
from a2a_watch.install.plan import Plan, share
from a2a_watch.install.settings import DRAIN, TIMEOUTS, WRITE, is_plain, own_handlers, parse, value_at, words
from a2a_watch.install.trial import try_hook
from a2a_watch.light.identity import Identity, Surroundings
from a2a_watch.light.lookup import agents
from a2a_watch.names import Problem
from a2a_watch.watch.mounts import file_system, is_remote

SETUP = "a2a-watch setup"
OLDEST_CLIENT = (2, 1, 197)  # of those that were tried
STALE_SECONDS = 86_400  # a turn may last hours; after a day nobody will end it
OLD_SCRIPTS = (
    "a2a-id",
    "a2a-send",
    "drain-inbox.sh",
)  # this protocol in plain shell, as people have it in ~/.claude/bin
MANAGED = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"


@dataclass(frozen=True)
class Finding:
    """What was found at one link; `state` is ok, warn or fail, `fix` the next thing to type."""

    link: str
    state: str
    says: str
    fix: str = ""


class Checks:
    """The checks from where `here` is: that folder's agent, the settings that are in force there."""

    def __init__(self, here: Surroundings) -> None:
        self._here, self._me, self._root = here, Identity(here), here.root()
        self.settings: dict[str, Any] = {}  # those that are in force here, by their paths, the user's first
        self.send = ""  # the path of a2a-send, as soon as it was found
        self._broken: list[Finding] = []
        project = os.path.join(self._me.project_root, ".claude")
        paths = [os.path.join(here.config, "settings.json")]
        paths += [os.path.join(project, name) for name in ("settings.json", "settings.local.json")]
        paths += [f"{MANAGED}/managed-settings.json", *sorted(glob.glob(f"{MANAGED}/managed-settings.d/*.json"))]
        for path in paths:
            try:
                self.settings[path] = parse((read(path) or b"").decode("utf-8-sig"))
            except (Problem, UnicodeError) as error:
                self._broken.append(Finding("settings", "fail", f"{path}: {error}", f"$EDITOR {quote(path)}"))
        own = [(data, path) for data in self.settings.values() for path in own_handlers(data, DRAIN)]
        # Under a narrow matcher, or switched to something else, it is missing.
        self._events = {str(path[1]) for data, path in own if is_plain(data, path)}
        self._commands = list(dict.fromkeys(str(value_at(data, (*path, "command"))) for data, path in own))
        enabled: dict[str, object] = {}
        for data in self.settings.values():
            found = value_at(data, ("enabledPlugins",))
            enabled.update(found if isinstance(found, dict) else {})
        self.plugin = next((name for name, on in enabled.items() if on is True and name.startswith("a2a-watch@")), "")

    def run(self) -> Iterator[Finding]:
        """Yield what was found, from the sender to the model."""
        yield from self._broken
        for check in (self._agent, self._inbox, self._path, self._client, self._switches, self._hooks, self._python,
                      self._skills, self._words, self._old_scripts, self._mail):  # fmt: skip
            yield from check()

    def may_run(self, program: str) -> set[str]:
        """Return the commands of `program` that may be tried: the user's own, and those of this installation.

        A stranger's repository must not have its commands run by asking what is wrong.
        """
        mine = self.settings.get(os.path.join(self._here.config, "settings.json"), {})
        plans = [Plan(self._here, False, python) for python in ("", real_python()[0])]
        return {*(value_at(mine, (*path, "command")) for path in own_handlers(mine, program)),
                *(plan.command if program == DRAIN else plan.wake for plan in plans)}  # fmt: skip

    def _agent(self) -> Iterator[Finding]:
        answer = self._me.answer
        if answer.problem:
            yield Finding("agent", "fail", answer.problem, "a2a-id --explain")
        elif answer.rule == len(self._me.answers):
            yield Finding("agent", "warn", "this folder has no name", "cd REPOSITORY, or echo NAME > .agent-id")
        else:
            yield Finding("agent", "ok", f"{answer.name} (rule {answer.rule}: {answer.source})")

    def _inbox(self) -> Iterator[Finding]:
        if not os.path.isdir(self._root):
            yield Finding(
                "root", "fail", f"there is no folder {self._root}, which a sandboxed session cannot make", SETUP
            )
            return
        facts, kind = os.stat(self._root), file_system(self._root)
        if facts.st_uid != os.geteuid() or not os.access(self._root, os.R_OK | os.W_OK | os.X_OK):
            yield Finding(
                "root", "fail", f"{self._root} is not yours, or not open to you", f"ls -ld {quote(self._root)}"
            )
        elif facts.st_mode & 0o077:
            yield Finding("root", "warn", f"others can look into {self._root}", f"chmod 700 {quote(self._root)}")
        elif is_remote(kind):
            yield Finding(
                "root", "warn", f"{self._root} is on {kind}, where locks may not hold", "export A2A_INBOX=/local"
            )
        else:
            yield Finding("root", "ok", f"{self._root}, yours alone{kind and ', on ' + kind}")

    def _path(self) -> Iterator[Finding]:
        here = os.path.dirname(os.path.abspath(sys.argv[0]))
        for program in ("a2a-send", "a2a-id", "a2a-watch"):
            found = shutil.which(program)
            if not found or not _is_ours(found):
                what = f"{found} is another program" if found else f"no {program} is on it"
                yield Finding("PATH", "fail", what, f'export PATH="{here}:$PATH", in the start file of your shell')
            elif not output_of([found, "--help"]):
                yield Finding("PATH", "fail", f"{found} does not run", f"{quote(found)} --help")
            else:
                yield Finding("PATH", "ok", found)
                self.send = found if program == "a2a-send" else self.send

    def _client(self) -> Iterator[Finding]:
        words = output_of(["claude", "--version"]).split()
        number = tuple(map(int, re.findall(r"\d+", words[0])[:3])) if words else ()
        if number >= OLDEST_CLIENT:
            yield Finding("client", "ok", f"Claude Code {words[0]}")
        else:
            what = (
                f"Claude Code {words[0]} is older than any that was tried"
                if words
                else "there is no claude on the PATH"
            )
            yield Finding("client", "warn", what, "claude update" if words else "claude --version")

    def _switches(self) -> Iterator[Finding]:
        for switch in ("disableAllHooks", "allowManagedHooksOnly"):
            # The last that says something is in force.
            set_in = [path for path, data in self.settings.items() if value_at(data, (switch,)) is not None]
            path = set_in[-1] if set_in else ""
            managed = path.startswith(MANAGED) or switch == "disableAllHooks"
            if path and managed and value_at(self.settings[path], (switch,)) is True:
                yield Finding("hooks", "fail", f"{switch} in {path}: no hook of yours runs", f"$EDITOR {quote(path)}")

    def _hooks(self) -> Iterator[Finding]:
        if self.plugin and self.plugin not in output_of(["claude", "plugin", "list"]):
            what = f"{self.plugin} is switched on in the settings, and the client does not have it"
            yield Finding("hooks", "fail", what, f"claude plugin install {self.plugin}")
        elif self.plugin and not self._commands:
            yield Finding("hooks", "ok", "from the plugin")
        elif self.plugin:
            what = "from the plugin and the settings: no mail is shown twice, but each event costs twice"
            yield Finding("hooks", "warn", what, "a2a-watch uninstall, or claude plugin uninstall a2a-watch")
        elif not self._commands:
            yield Finding("hooks", "fail", "no settings that are in force here call the drain", SETUP)
        elif missing := [event for event in TIMEOUTS if event not in self._events]:
            receipts = "--receipts" in " ".join(self._commands)
            what = "what was read comes back" if receipts else "what was shown counts as read"
            yield Finding("hooks", "fail" if receipts else "warn", f"none at {', '.join(missing)}, so {what}", SETUP)
        elif any("--receipts" not in command for command in self._commands):
            yield Finding("hooks", "warn", "without --receipts: what was shown counts as read", SETUP)
        else:
            yield Finding("hooks", "ok", "at " + ", ".join(TIMEOUTS))
        plugin = [quote(os.path.join(share(), "hooks", "drain-inbox")) + " --receipts"] if self.plugin else []
        for command in self._commands or plugin:
            if command not in {*self.may_run(DRAIN), *plugin}:
                yield Finding("hook", "warn", f"not tried, for a project has it: {command}", f"{SETUP} --project")
                continue
            try:
                yield Finding("hook", "ok", f"shows mail once: {try_hook(command, self._root, self.send)}")
            except (OSError, ValueError) as error:
                yield Finding("hook", "fail", f"{command}: {error}", SETUP)

    def _python(self) -> Iterator[Finding]:
        python, why = real_python()
        told = [word[11:] for command in self._commands for word in split(command) if word.startswith("A2A_PYTHON=")]
        if told and not os.access(told[0], os.X_OK):
            yield Finding("python3", "warn", f"{told[0]}, which the hook was told of, is gone", SETUP)
        elif why and not told:
            yield Finding("python3", "warn", why, SETUP if self._commands else f"export A2A_PYTHON={quote(python)}")
        else:
            yield Finding("python3", "ok", f"{told[0]}, as the hook was told" if told else str(shutil.which("python3")))

    def _skills(self) -> Iterator[Finding]:
        told = [word[11:] for command in self._commands for word in split(command) if word.startswith("A2A_PYTHON=")]
        odd: list[str] = []
        try:
            for project in (False, True) if self._commands else ():
                plan = Plan(self._here, project, told[0] if told else "")
                odd.append(", ".join(one.path for one in plan.setup() if one.path.endswith("SKILL.md")))
        except Problem as problem:
            if not odd:
                odd = [str(problem)]
        if odd and all(odd):
            yield Finding("skills", "warn", f"not what setup puts there: {odd[0]}", SETUP)
        elif odd:
            yield Finding("skills", "ok", "check-inbox, send-note")

    def _words(self) -> Iterator[Finding]:
        sandbox = any(value_at(data, ("sandbox", "enabled")) is True for data in self.settings.values())
        for path, word in words(self._root):
            there = [str(one) for data in self.settings.values() for one in value_at(data, path, [])]
            if path == WRITE:
                there = [os.path.join(self._here.home, one[2:]) if one.startswith("~/") else one for one in there]
                there = [word for one in there if (word + "/").startswith(one.rstrip("/") + "/")]
            no = ("sandbox", "filesystem", "denyWrite") if path == WRITE else ("permissions", "deny")
            if any(word in value_at(data, no, []) for data in self.settings.values()):
                yield Finding(str(path[0]), "fail", f"{'.'.join(no)} has {word}", "$EDITOR ~/.claude/settings.json")
            elif word in there:
                yield Finding(str(path[0]), "ok", word)
            elif path == WRITE:
                what = f"a sandboxed session cannot write to {word}"
                yield Finding(str(path[0]), "fail" if sandbox else "warn", what, SETUP)
            else:
                fix = SETUP if self._commands else f"/permissions in a session, and allow {word}"
                yield Finding(str(path[0]), "warn", f"{word} is not allowed, so a model has to ask each time", fix)

    def _old_scripts(self) -> Iterator[Finding]:
        paths = [os.path.join(self._here.config, "bin", name) for name in OLD_SCRIPTS]
        old = [path for path in paths if os.path.isfile(path)]
        if old:
            yield Finding(
                "old scripts", "warn", "they lose mail that was never shown", "rm " + " ".join(map(quote, old))
            )
        for path, data in self.settings.items():
            if "drain-inbox.sh" in json.dumps(value_at(data, ("hooks",), {})):
                yield Finding(
                    "old scripts",
                    "fail",
                    f"{path} calls drain-inbox.sh, which takes mail away",
                    f"$EDITOR {quote(path)}",
                )

    def _mail(self) -> Iterator[Finding]:
        now = time.time()
        for agent in agents(self._root):
            folder = os.path.join(self._root, agent)
            shown = os.path.join(folder, ".shown")
            try:
                history = json.loads(read(os.path.join(shown, ".history")) or b"{}")
                projects = [one for one in value_at(history, ("projects",), []) if os.path.isdir(one)]
                receipts = [os.path.join(shown, name) for name in durable.listing(shown) if not name.startswith(".")]
                oldest = min((durable.changed(path, now) for path in receipts), default=now)
                bad = len(durable.listing(os.path.join(folder, ".bad")))
            except (OSError, Problem, ValueError, TypeError) as error:
                yield Finding("mail", "warn", f"{folder} cannot be looked into: {error}", f"ls -la {quote(folder)}")
                continue
            if len(projects) > 1:
                what, fix = f"{' and '.join(projects)} share the inbox {agent}", f"cd {quote(projects[-1])}"
                yield Finding("mail", "warn", what, f"{fix} && echo NEW-NAME > .agent-id")
            if now - oldest > STALE_SECONDS:
                what = (
                    f"a session of {agent} was shown mail over a day ago and never ended a turn; its next one gets it"
                )
                yield Finding("mail", "warn", what, f"ls -l {quote(shown)}")
            if bad:
                yield Finding("mail", "warn", f"{bad} files for {agent} are no messages", f"ls -l {quote(folder)}/.bad")


def _is_ours(program: str) -> bool:
    """Tell whether a command is of this package, by its text: an old script by that name must not be started."""
    try:
        text = read(program) or b""
    except Problem:
        return False
    return b"a2a_watch" in text or b"run_light" in text
