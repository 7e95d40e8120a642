"""The rules of the house: who may import, read, write and print what, and how large it may grow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import REPO
from tests.pythons import interpreters

PACKAGE = REPO / "a2a_watch"
CORE = sorted(PACKAGE.glob("*.py"))
LIGHT = sorted((PACKAGE / "light").glob("*.py"))
ALL = sorted(PACKAGE.rglob("*.py"))
# The light programs and the core start with `python3 -I -S` on machines where nothing is installed.
BARE = CORE + LIGHT

CHANGES = {
    "chmod", "chown", "copy_file_range", "fchmod", "fchown", "ftruncate", "lchown", "link", "makedirs", "mkdir",
    "mkfifo", "mknod", "remove", "removedirs", "removexattr", "rename", "renames", "replace", "rmdir", "sendfile",
    "setxattr", "symlink", "truncate", "unlink", "utime",
}  # fmt: skip
WRITING = {"O_APPEND", "O_CREAT", "O_EXCL", "O_RDWR", "O_TMPFILE", "O_TRUNC", "O_WRONLY"}
CHANGE_MODULES = {"shutil", "tempfile", "pathlib", "fileinput", "dbm", "shelve", "sqlite3", "zipfile", "tarfile"}


def name_of(path: Path) -> str:
    return str(path.relative_to(REPO))


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(), str(path)))


def dotted(node: ast.AST) -> str:
    """Return `os.path.join` for that expression, empty for one of another kind."""
    if isinstance(node, ast.Name):
        return node.id
    inner = dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{inner}.{node.attr}" if isinstance(node, ast.Attribute) and inner else ""


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports anywhere, inside functions too."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def changes(path: Path) -> list[str]:
    """Return what in a file changes something on disk, or could."""
    found = [module for module in imports(path) if module.partition(".")[0] in CHANGE_MODULES]
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and dotted(node.value) == "os" and node.attr in CHANGES | WRITING:
            found.append(f"os.{node.attr}")
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            found += [f"from os import {alias.name}" for alias in node.names]
        if isinstance(node, ast.Call) and dotted(node.func) in ("open", "io.open", "os.fdopen"):
            mode = (
                node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "mode"), None)
            )
            if mode and not (isinstance(mode, ast.Constant) and mode.value in ("r", "rb")):
                found.append(f"open for {ast.unparse(mode)}")
    return found


def reads_environment(path: Path) -> list[str]:
    """Return what in a file reads or changes environment variables."""
    given = {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv"}
    found = [
        dotted(node) for node in nodes(path) if dotted(node) in given | {"os.path.expanduser", "os.path.expandvars"}
    ]
    return found + sorted(imports(path) & given)


def stdout_writers(path: Path) -> set[str]:
    """Return the functions of a file in which standard output is written."""
    found = set()
    for function in nodes(path):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            call = dotted(node.func) if isinstance(node, ast.Call) else ""
            if call == "print" or dotted(node) in ("sys.stdout", "sys.__stdout__") or call == "click.echo":
                found.add(function.name)
            # A handle that is not plainly another one may be 1.
            if isinstance(node, ast.Call) and call in ("os.write", "os.writev"):
                handle = node.args[0]
                if not (isinstance(handle, ast.Constant) and handle.value == 2):
                    found.add(function.name)
    return found


def test_these_rules_see_who_breaks_them(tmp_path: Path) -> None:
    """Each way to read the environment, to change a file or to print is noticed in a file that does it."""
    path = tmp_path / "stranger.py"
    lines = ["os.unlink(x)", "os.open(x, os.O_RDONLY | os.O_CREAT)", "open(x, 'a')", "open(x, mode=m)", "os.mkdir(x)"]
    for line in [*lines, "import shutil", "from os import remove", "from pathlib import Path"]:
        path.write_text(f"def f():\n    {line}\n")
        assert changes(path), line
    for line in ("os.environ['X']", "os.getenv('X')", "from os import environ", "os.path.expanduser('~')"):
        path.write_text(line)
        assert reads_environment(path), line
    for line in ("print(1)", "os.write(1, x)", "os.write(h, x)", "sys.stdout.write(x)", "click.echo(x)"):
        path.write_text(f"def f():\n    {line}\n")
        assert stdout_writers(path) == {"f"}, line
    path.write_text("def f():\n    import click\n    os.write(2, x); open(y); open(y, 'rb')\n")
    assert (imports(path), changes(path), reads_environment(path), stdout_writers(path)) == ({"click"}, [], [], set())


@pytest.mark.parametrize("path", BARE, ids=name_of)
def test_core_and_light_programs_import_the_standard_library_only(path: Path) -> None:
    """Files in `a2a_watch/` and `a2a_watch/light/` import the standard library and each other, nothing else."""
    strangers = {module.partition(".")[0] for module in imports(path)} - {"__future__", "a2a_watch"}
    assert strangers <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_arrows_point_one_way(path: Path) -> None:
    """The core imports nothing of any program, neither of the light ones nor of a folder."""
    folders = {f"a2a_watch.{folder.name}" for folder in PACKAGE.iterdir() if folder.is_dir()}
    assert not {module for module in imports(path) for folder in folders if (module + ".").startswith(folder + ".")}


@pytest.mark.parametrize("path", LIGHT, ids=name_of)
def test_light_programs_know_no_other_program(path: Path) -> None:
    """A light program imports the core and its own folder only."""
    others = {f"a2a_watch.{folder.name}" for folder in PACKAGE.iterdir() if folder.is_dir() and folder.name != "light"}
    assert not {module for module in imports(path) for other in others if (module + ".").startswith(other + ".")}


@pytest.mark.parametrize("path", BARE, ids=name_of)
def test_core_and_light_programs_are_python_3_9(path: Path) -> None:
    """They parse with the grammar of 3.9, and evaluate no annotation that 3.9 does not know."""
    source = path.read_text()
    tree = ast.parse(source, feature_version=(3, 9))
    if any(
        isinstance(node, ast.AnnAssign) or (isinstance(node, ast.arg) and node.annotation) for node in ast.walk(tree)
    ):
        assert "from __future__ import annotations" in source


def test_core_and_light_programs_are_imported_by_a_real_3_9() -> None:
    """Every one of these modules is imported by Python 3.9 with nothing installed."""
    oldest = [python for python, version in interpreters().items() if version == (3, 9)]
    if not oldest:
        pytest.skip("no Python 3.9 here")
    modules = ["a2a_watch" + name_of(path)[len("a2a_watch") : -len(".py")].replace("/", ".") for path in BARE]
    code = f"import sys; sys.dont_write_bytecode = True; sys.path.append({str(REPO)!r})\n" + "".join(
        f"import {module.removesuffix('.__init__')}\n" for module in modules
    )
    done = subprocess.run([oldest[0], "-I", "-S", "-W", "error", "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_only_identity_reads_the_environment() -> None:
    """One file knows which variables there are."""
    assert [name_of(path) for path in ALL if reads_environment(path)] == ["a2a_watch/light/identity.py"]


def test_only_durable_changes_anything_on_disk() -> None:
    """In the core and the light programs, one file creates, renames, links, writes and removes."""
    assert {name_of(path): changes(path) for path in BARE if changes(path)}.keys() == {"a2a_watch/durable.py"}


def test_one_function_a_program_writes_to_standard_output() -> None:
    """The core prints nothing; each light program has one function that does; the commands print with click alone."""
    assert {name_of(path): stdout_writers(path) for path in CORE if stdout_writers(path)} == {
        "a2a_watch/durable.py": {"_write"}  # into a file that it has opened
    }
    writers = {path.name: stdout_writers(path) for path in LIGHT if stdout_writers(path)}
    assert writers == {"drain.py": {"_write"}, "id.py": {"_say"}, "send.py": {"_say"}}
    for path in sorted((PACKAGE / "cli").glob("*.py")):
        assert not {dotted(node) for node in nodes(path)} & {"print", "os.write", "sys.stdout.write"}, path


def lines(paths: list[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def test_it_can_be_read_in_one_sitting() -> None:
    """The core stays under 1,000 lines, what a session runs under 2,000, all under 5,200, a file at about 250."""
    assert lines(CORE) < 1_000
    assert lines(BARE) < 2_000
    assert lines(ALL) < 5_200
    assert {name_of(path): lines([path]) for path in ALL if lines([path]) > 300} == {}


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_everything_public_says_what_it_is_for(path: Path) -> None:
    """Every module, public class, function and method has a docstring; only constructors speak through their class."""
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bodies = [tree.body, *(owner.body for owner in classes)]
    defined = [node for body in bodies for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    silent = [node.name for node in defined if not node.name.startswith("_") and not ast.get_docstring(node)]
    assert silent == []


def texts() -> Iterator[tuple[str, str]]:
    """Yield every text file that belongs to the repository, by name and content."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=REPO, capture_output=True, check=False)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (REPO / name).is_file():
            yield name, (REPO / name).read_bytes().decode("utf-8", "replace")


def test_nothing_is_left_for_later() -> None:
    """No file says that something is still to be done."""
    if not (REPO / ".git").exists():
        pytest.skip("not a checkout")
    later = re.compile(r"\b(%s)\b" % "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")))
    found = [name for name, text in texts() if later.search(text)]
    assert found == []
    assert sum(1 for _ in texts()) > 20
