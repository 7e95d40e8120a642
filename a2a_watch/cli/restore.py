"""`a2a-watch restore`: read messages become pending again."""

import time

import click

from a2a_watch.inbox import READ
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
    found = {one[0].path(*one[1:]): one for one in (find(root, everybody, id_, (READ, "")) for id_ in ids)}
    for inbox, folder, name in found.values():
        where = f"{one_line(id_in_name(name), 60)} of {one_line(inbox.agent, 100)}"
        done = inbox.restore(name, time.time()) if folder else False
        click.echo(f"{'restored' if done else 'already pending'}: {where}")
