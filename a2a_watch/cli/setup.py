"""`a2a-watch setup`: Claude Code's sessions get their mail."""

import json
import os
import shutil
import sys
from collections.abc import Callable

import click

from a2a_watch.install.change import Change
from a2a_watch.install.interpreter import real_python
from a2a_watch.install.plan import Plan
from a2a_watch.light.identity import Surroundings
from a2a_watch.names import Problem


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--project", is_flag=True, help="For the repository here alone, in its .claude/settings.local.json.")
@click.option(
    "--wake/--no-wake", default=None, help="Whether mail wakes an idle session; costs tokens, and is bounded."
)
@click.option("--statusline", is_flag=True, help="Show how mail gets into the status line, and change nothing.")
def command(dry_run: bool, yes: bool, project: bool, wake: bool | None, statusline: bool) -> None:
    """Give Claude Code's sessions their mail: hooks, permissions and skills.

    Every change is shown and asked for; the settings stay as they are but for the new entries, with a backup beside
    them. Run it again after an update or a move.
    """
    python, why = real_python()
    plan = Plan(Surroundings(), project, python, wake)
    if statusline:
        _show_status_line(plan)
        return
    if why:
        click.echo(f"{why}; the hook will use {python}\n")
    changed = carry_out(plan.setup(), dry_run, yes, "a2a-watch setup")
    if not dry_run:
        # A sandbox opens only what is there when the session starts.
        os.makedirs(plan.root, 0o700, exist_ok=True)
    if changed and not dry_run:
        click.echo("Sessions that start from now on have their mail; to see it work: a2a-watch doctor")
    if wake and not dry_run:
        click.echo("Sessions that start from now on wake when mail lands, at most 6 times in 10 minutes an agent; "
                   "to end that: a2a-watch setup --no-wake")  # fmt: skip
    if not shutil.which("a2a-send"):
        folder = os.path.dirname(os.path.abspath(sys.argv[0]))
        click.echo(f"a2a-send is not on this PATH, and so on no session's. Add to your shell's start file:\n"
                   f'  export PATH="{folder}:$PATH"')  # fmt: skip


def _show_status_line(plan: Plan) -> None:
    line = plan.status_line()
    if not line:
        click.echo("Your status line shows mail.")
        return
    text = json.dumps({"statusLine": line}, indent=2, ensure_ascii=False)[2:-2]
    click.echo(f"Mail in the status line of Claude Code: put this into {plan.settings}\n\n{text}\n")
    if " sh -c " in str(line["command"]):
        click.echo("It shows what yours shows now, and a line above it while mail waits.")


def carry_out(
    changes: list[Change], dry_run: bool, yes: bool, again: str, first: Callable[[], object] = lambda: None
) -> bool:
    """Show the changes, ask, do what comes `first`, and make them; False when there was nothing to do."""
    for change in changes:
        click.echo(change.diff() + "\n")
        change.check()
    if not changes:
        click.echo("Nothing to change.")
    elif dry_run:
        click.echo(f"Nothing was changed; to change it: {again}")
    else:
        asked = not yes and sys.stdin is not None and sys.stdin.isatty()
        if not (yes or (asked and click.confirm("Write this?"))):
            raise Problem("nothing was changed", again if asked else f"{again} --yes")
        for change in changes:
            change.check()  # nothing of it, if somebody changed one meanwhile
        first()
        for change in changes:
            change.write()
    return bool(changes)
