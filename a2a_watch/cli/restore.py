"""`a2a-watch restore`: read messages become pending again."""

import time

import click

from a2a_watch.light.identity import Surroundings
from a2a_watch.light.lookup import agents, find
from a2a_watch.message import one_line
from a2a_watch.names import id_in_name


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def command(ids: tuple[str, ...]) -> None:
    """Put read messages back to pending; they are marked when they are shown again.

    The beginning of an ID will do.
    """
    root = Surroundings().root()
    everybody = agents(root)
    # All or none are found before the first is moved.
    for inbox, folder, name in [find(root, everybody, prefix) for prefix in ids]:
        where = f"{one_line(id_in_name(name), 60)} of {one_line(inbox.agent, 100)}"
        if folder:
            inbox.restore(name, time.time())
            click.echo(f"restored: {where}")
        else:
            click.echo(f"already pending: {where}")
