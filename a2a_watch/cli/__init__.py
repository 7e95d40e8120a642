"""a2a-watch: everything for people. One file a command, imported when it is called."""

from __future__ import annotations

import importlib
import io
import sys

import click

from a2a_watch.message import one_line
from a2a_watch.names import Problem

COMMANDS = ("doctor", "restore", "run", "service", "setup", "show", "status", "uninstall")


class Commands(click.Group):
    """The commands by name; only the one that is called is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which help lists them."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command `cmd_name`, None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"a2a_watch.cli.{cmd_name}").command
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="a2a-watch")
def group() -> None:
    """Mail between coding-agent sessions on one machine."""


def main() -> None:
    """Run the program: exit 0 done, 1 could not, 2 misuse, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows fewer letters gets the rest
    try:
        group(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except Problem as problem:
        click.echo("a2a-watch: " + one_line(f"{problem}; try: {problem.fix}", 4096), err=True)
        sys.exit(1)
    except OSError as error:
        click.echo(f"a2a-watch: {error.filename or 'the inbox'}: {error.strerror}; try: a2a-id --explain", err=True)
        sys.exit(1)
