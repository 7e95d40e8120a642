"""The few file operations whose order keeps mail safe; the only place that changes anything on disk.

Every name is taken as it stands: links are not followed, devices and pipes are not opened. An OSError means that
the step did not happen; a file that is gone is a return value, for someone else has it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from a2a_watch.names import numbered

TEMP = ".new.tmp"  # one name, only under the lock: what a crash leaves is overwritten or cleared by the next run
LOCK_POLL_SECONDS = 0.01
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_ODD = (errno.EISDIR, errno.ELOOP, errno.ENXIO)  # what open says of a folder, a link and a pipe
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def listing(folder: str, regular: bool = False) -> list[str]:
    """Return the names in `folder`, sorted by their bytes, or those of `regular` files; none when it is not there."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if not regular or entry.is_file(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(names, key=os.fsencode)


def read(path: str, limit: int) -> tuple[bytes, int, float] | None:
    """Return up to `limit` bytes, the whole size and the time of change of a regular file, None for anything else."""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return None
    handle = os.open(path, os.O_RDONLY | _OPEN)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            return None  # Race: replaced since lstat
        raw = b""
        while len(raw) < limit and (more := os.read(handle, limit - len(raw))):
            raw += more
        return raw, facts.st_size, facts.st_mtime
    finally:
        os.close(handle)


def changed(path: str, otherwise: float) -> float:
    """Return when `path` itself was last changed (Unix seconds), `otherwise` when it is gone."""
    try:
        return os.lstat(path).st_mtime
    except FileNotFoundError:
        return otherwise  # Race: its sender has just published it


def size(path: str) -> int:
    """Return the size of `path` itself in bytes, 0 when it is not there."""
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def check_writable(folder: str) -> None:
    """Raise PermissionError unless names can be put into `folder`."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)


def exists(path: str) -> bool:
    """Tell whether anything stands at `path`, a dangling link included."""
    return os.path.lexists(path)


def free(name: str, *folders: str) -> str:
    """Return `name`, or the first `name-2`, `name-3`, … that stands in none of `folders`."""
    candidate, number = name, 1
    while any(exists(os.path.join(folder, candidate)) for folder in folders):
        number += 1
        candidate = numbered(name, number)
    return candidate


def sync(folder: str) -> None:
    """Put the names in `folder` on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: str) -> None:
    """Make a folder, mode 0700, that survives a power cut; raise FileExistsError when anything is there."""
    os.mkdir(path, 0o700)
    try:
        sync(os.path.dirname(path))
    except OSError:
        os.rmdir(path)
        raise


def have_folder(path: str) -> None:
    """Have a folder of our own at `path`; what stands in its way is renamed, not removed."""
    try:
        make_folder(path)
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            aside(path)
            make_folder(path)


def aside(path: str) -> None:
    """Rename what stands at `path` to a free dot name beside it, which every reader ignores."""
    folder, name = os.path.split(path)
    os.rename(path, os.path.join(folder, free("." + name.lstrip(".")[:60] + ".aside", folder)))


def write_new(path: str, data: bytes) -> None:
    """Write a new file, mode 0600, and put its bytes on the disk; whatever fails, no file stays."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o600)
    try:
        try:
            _write(handle, data)
            # Order: bytes before the name, or a power cut leaves a message that is all zeros.
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        os.unlink(path)
        raise


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def publish(temp: str, path: str) -> None:
    """Give the written `temp` its final name without ever replacing a file; raise FileExistsError instead."""
    try:
        os.link(temp, path, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        # Race: no other writer has this name, for it ends in this message's own id.
        os.rename(temp, path)
        return
    try:
        os.unlink(temp)
    except OSError:
        pass  # the message is there, and a drain clears what is old


def replace(folder: str, name: str, data: bytes, lasting: bool = True) -> None:
    """Put `data` at `name` (which may be `sub/name`) in one step; `lasting` also survives a power cut."""
    temp, path = os.path.join(folder, TEMP), os.path.join(folder, name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OPEN
    try:
        handle = os.open(temp, flags, 0o600)
    except OSError as error:
        if error.errno not in _ODD:
            raise
        aside(temp)
        handle = os.open(temp, flags, 0o600)
    try:
        try:
            _write(handle, data)
            if lasting:
                os.fsync(handle)
        finally:
            os.close(handle)
        try:
            os.rename(temp, path)
        except IsADirectoryError:
            aside(path)
            os.rename(temp, path)
    except OSError:
        os.unlink(temp)
        raise
    if lasting:
        sync(os.path.dirname(path))


def move(source: str, target: str) -> bool:
    """Rename within one file system; False when someone else was faster. The caller knows that `target` is free."""
    try:
        os.rename(source, target)
    except FileNotFoundError:
        return False
    return True


def remove(path: str) -> None:
    """Have no file at `path`."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass  # Race: someone else removed it, which is what was wanted
    except OSError:
        # Linux: unlink of a folder is EISDIR; macOS: EPERM.
        if not os.path.isdir(path):
            raise
        aside(path)


def remove_empty(folder: str) -> None:
    """Remove a folder unless somebody's mail is in it by now."""
    try:
        os.rmdir(folder)
    except OSError:
        pass


def is_locked(folder: str) -> bool:
    """Tell whether another process has the lock on `folder`; nothing is made for it."""
    try:
        handle = os.open(os.path.join(folder, ".lock"), os.O_RDONLY | _OPEN)
    except OSError:
        return False  # not there, or not ours to look at
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    finally:
        os.close(handle)
    return False


class Lock:
    """`with Lock(folder, seconds) as held:` the flock on `<folder>/.lock`; `held` is False when it stayed taken."""

    def __init__(self, folder: str, seconds: float) -> None:
        self._folder, self._seconds, self._handle = folder, seconds, -1

    def __enter__(self) -> bool:
        path = os.path.join(self._folder, ".lock")
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | _OPEN, 0o600)
        except OSError as error:
            if error.errno not in _ODD:
                raise
            # A folder or a link by that name: the inbox itself can be locked just as well, by all alike.
            self._handle = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        end = time.monotonic() + self._seconds
        while True:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                    raise
            if time.monotonic() >= end:
                return False
            time.sleep(LOCK_POLL_SECONDS)

    def is_there(self) -> bool:
        """Tell whether the lock's file is still the one that others would find."""
        try:
            here, there = os.fstat(self._handle), os.lstat(os.path.join(self._folder, ".lock"))
        except OSError:
            return False
        return stat.S_ISDIR(here.st_mode) or (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            os.close(self._handle)
