"""`python -m tools.handover`: two sessions of the real client hand work to each other; prints docs/handover.md.

Needs what `make check-client` needs. The client, its hooks and all files are real; the model is a stand-in, which says
what stands here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.client.driver import Client, eventually
from tests.client.model import Model, bash, say
from tests.client.test_wake import listens
from tests.kit import REPO, World

PROMPT = "Rename user to account in api.json. The web client is project-b's."
NOTE = """a2a-send project-b --subject 'The API says account now' <<'EOF'
api.json has account where it had user. Please follow in web.js, and tell me when it is done.
EOF"""
HEAD = """# Two sessions hand work to each other

Claude Code {version}, two sessions in two terminals, set up by `a2a-watch setup --wake`. One prompt was typed,
into the first session; after it no key was touched until both were done, and then ctrl+o, which shows the commands. The
model was a stand-in with fixed lines, everything else is real. `python -m tools.handover` plays it again.
"""


def play(program: Path, base: Path) -> str:
    """Play it in `base`; return the page."""
    world = World(base)
    (base / "project-a" / "api.json").write_text('{"user": 7}\n')
    (base / "project-b" / "web.js").write_text("show(api.user)\n")
    first, second = Model(), Model()
    one, other = Client(program, world, first), Client(program, world, second)
    one.set_up("--wake")
    first.turns = [
        bash("sed -i s/user/account/ api.json && cat api.json"), bash(NOTE),
        say("api.json says account. I left project-b a note about web.js."),
        say("project-b is done with web.js, so the rename is complete."),
    ]  # fmt: skip
    second.turns = [
        bash("sed -i s/user/account/ web.js && cat web.js"),
        bash("a2a-send project-a --subject 're: The API says account now' 'Done: web.js reads account.'"),
        say("project-a renamed the field. web.js follows it now, and project-a knows."),
    ]
    allowed = ("--allowedTools", "Bash")
    with one.session(*allowed, at="project-a", columns=100) as here, other.session(*allowed, columns=100) as there:
        for session, agent in ((here, "project-a"), (there, "project-b")):
            listens(session, world, agent)
        here.type(PROMPT)
        here.wait_for("so the rename is complete")
        for session in (here, there):
            session.wait_until_idle()
        for agent in ("project-a", "project-b"):
            eventually(lambda agent=agent: len(world.names(agent, ".read")) == 1, "read once")
        for session in (here, there):
            session.press("C-o")
            session.wait_for("Showing detailed transcript")
        screens = [part_of(session.screen()) for session in (here, there)]
    assert (base / "project-b" / "web.js").read_text() == "show(api.account)\n"
    first.close()
    second.close()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[0]
    named = zip(("project-a", "project-b"), screens, strict=True)
    return HEAD.format(version=version) + "".join(f"\n## {agent}\n\n```text\n{part}\n```\n" for agent, part in named)


def part_of(screen: str) -> str:
    """Return a screen without the client's head and foot, and without how long what took and when."""
    lines = [line.rstrip() for line in screen.split("\n") if not re.search("^✻|[AP]M claude$", line)]
    begin = next(number for number, line in enumerate(lines) if line.startswith(("❯", "●")))
    end = max(number for number, line in enumerate(lines) if line.startswith("───"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines[begin:end])).strip()


def main() -> None:
    """Print the page."""
    found = sorted((REPO / "build" / "client" / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude"))
    if not found:
        sys.exit("handover: there is no client; try: make check-client")
    with tempfile.TemporaryDirectory(prefix="a2a-") as folder:
        print(play(found[0].resolve(), Path(folder)), end="")


if __name__ == "__main__":
    main()
