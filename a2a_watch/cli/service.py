"""`a2a-watch service`: the watcher starts with the session and is kept running."""

import os
import shlex
import shutil
import sys
from functools import partial

import click

from a2a_watch.cli.run import command as run
from a2a_watch.cli.setup import carry_out
from a2a_watch.install.change import Change, read
from a2a_watch.install.service import ON_MAIL, Service, service, start
from a2a_watch.light.identity import Surroundings
from a2a_watch.names import Problem


@click.group()
def command() -> None:
    """Keep the watcher running, as a systemd user service or a launchd agent."""


@command.command(context_settings={"ignore_unknown_options": True})
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def install(dry_run: bool, yes: bool, options: tuple[str, ...]) -> None:
    """Write the service's file, start it, and wait until it is ready.

    OPTIONS are those of `a2a-watch run`, as `--no-preview`. Run it again after an update or a move.
    """
    asked = run.make_context("a2a-watch run", list(options)).params["on_mail"]
    here = Surroundings()
    one = service(here)
    change = one.change(_by_path(options, asked) if asked else list(options))
    carry_out([change] if change.old != change.new else [], dry_run, yes, "a2a-watch service install", one.end)
    if not dry_run:
        os.makedirs(here.root(), 0o700, exist_ok=True)
        for told in start(one, here.root()):
            click.echo(told)
        click.echo("It runs; to see it: a2a-watch status")


def _by_path(options: tuple[str, ...], asked: tuple[str, ...]) -> list[str]:
    """Return `options` with the absolute path of the program of `--on-mail`: a service has a PATH of its own."""
    found = shutil.which(asked[0])
    if not found:
        raise Problem(f"--on-mail: there is no program {asked[0]}", f"ls -l {shlex.quote(asked[0])}")
    words, rest = [], iter(options)
    for word in rest:
        if word == ON_MAIL:
            next(rest)
        elif not word.startswith(f"{ON_MAIL}="):
            words.append(word)
    return [*words, ON_MAIL, shlex.join([os.path.abspath(found), *asked[1:]])]


@command.command()
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(dry_run: bool, yes: bool) -> None:
    """Stop the watcher and take the service's file away. Delivery stays as it is."""
    one = service(Surroundings())
    old = read(one.path)
    if carry_out([Change(one.path, old, None)] if old is not None else [], dry_run, yes,
                 "a2a-watch service uninstall", partial(_end, one)) and not dry_run:  # fmt: skip
        one.tidy()


def _end(one: Service) -> None:
    try:
        one.end()
    except Problem:
        pass  # nobody runs it then, and the file goes all the same


@command.command()
def status() -> None:
    """Show what the system says of the service; what the watcher says: a2a-watch status."""
    _become(service(Surroundings()).show())


@command.command()
def logs() -> None:
    """Show the end of the watcher's log."""
    _become(service(Surroundings()).logs())


@command.command()
def restart() -> None:
    """Start the service anew, and wait until it is ready."""
    here = Surroundings()
    one = service(here)
    if read(one.path) is None:
        raise Problem("the service is not installed", "a2a-watch service install")
    for told in start(one, here.root()):
        click.echo(told)


def _become(words: list[str]) -> None:
    sys.stdout.flush()
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise Problem(f"{words[0]}: {error.strerror}", "a2a-watch status") from None
