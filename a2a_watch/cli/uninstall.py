"""`a2a-watch uninstall`: what setup put in goes."""

import click

from a2a_watch.cli.setup import carry_out
from a2a_watch.install.plan import Plan
from a2a_watch.install.service import service
from a2a_watch.light.identity import Surroundings
from a2a_watch.names import Problem


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--project", is_flag=True, help="From the repository here alone.")
def command(dry_run: bool, yes: bool, project: bool) -> None:
    """Take hooks, permissions and skills out of Claude Code again.

    Settings that nobody else changed are what they were, byte for byte. Mail is not touched.
    """
    here = Surroundings()
    plan = Plan(here, project)
    if carry_out(plan.uninstall(), dry_run, yes, "a2a-watch uninstall") and not dry_run:
        plan.tidy()
    try:
        if not project and service(here).command():
            click.echo("The watcher's service is still installed; to take it out: a2a-watch service uninstall")
    except Problem:
        pass  # no services here
    if not plan.status_line():
        click.echo(f"Your status line still shows mail; before the program goes, take it out of {plan.settings}")
    click.echo(f"Your mail stays in {here.short(plan.root)}.")
