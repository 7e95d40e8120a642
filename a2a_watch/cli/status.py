"""`a2a-watch status`: is the watcher alive, how does it fare, and who has mail."""

import json
import sys

import click

from a2a_watch.durable import exists
from a2a_watch.light.identity import Surroundings
from a2a_watch.message import one_line
from a2a_watch.watch.status import status


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(as_json: bool) -> None:
    """Say whether the watcher runs and how it fares, and which agents have mail.

    Exits 1 when it does not run. Delivery never needs it.
    """
    here = Surroundings()
    found = status(here.root())
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        running, record = found["running"], {"observes": "?", "notices": "?", **found["watcher"]}
        since = f"running since {record.get('since', '?')}, process {record.get('pid', '?')}"
        lines = [("watcher", since if running else "not running; to start it: a2a-watch service install")]
        how = f", {record['observes']}" if running else "" if exists(found["root"]) else ", no such folder"
        lines.append(("root", here.short(found["root"]) + how))
        if running:
            lines.append(("notices", record["notices"]))
        for name, key in (("last one", "last_notice"), ("last error", "error")):
            if isinstance(what := record.get(key), dict):
                lines.append((name, f"{what.get('at')} {what.get('what')}"))
        for agent in found["agents"]:
            senders = ", ".join(map(str, agent["from"][:3])) + (", …" if len(agent["from"]) > 3 else "")
            lines.append(
                (
                    "mail",
                    f"{agent['agent']}: {agent['count']} from {senders}"
                    + (agent["subject"] and f": {agent['subject']}"),
                )
            )
        lines += [("mail", f"{agent}: its inbox cannot be read") for agent in found["unreadable"]]
        for name, text in [*lines, *([] if lines[-1][0] == "mail" else [("mail", "none waits")])]:
            click.echo(f"{name + ':':<12}{one_line(str(text), 400)}")
    sys.exit(0 if found["running"] else 1)
