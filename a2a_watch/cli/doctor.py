"""`a2a-watch doctor`: whether mail reaches the sessions here, and if not, why not."""

import dataclasses
import json
import sys

import click

from a2a_watch.install.checks import Checks
from a2a_watch.install.waking import waking
from a2a_watch.install.watcher import watcher
from a2a_watch.light.identity import Surroundings
from a2a_watch.message import one_line


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as a JSON list.")
@click.option("--notify", is_flag=True, help="Show a test notification too.")
def command(as_json: bool, notify: bool) -> None:
    """Try each link from a note to a session's context, and say what to type where one is broken.

    Exits 1 when one fails. Nothing is changed: mail is tried in a folder of its own.
    """
    here = Surroundings()
    checks = Checks(here)
    findings = [*checks.run(), *waking(here, checks), *watcher(here, notify)]
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(one) for one in findings], indent=2))
    else:
        for one in findings:
            fix = f"; try: {one.fix}" if one.fix else ""
            click.echo(one_line(f"{one.state:<4}  {one.link}: {one.says}{fix}", 4096))
    sys.exit(any(one.state == "fail" for one in findings))
