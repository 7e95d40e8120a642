"""Which file system a folder is on, and whether its kernel tells of what others change there."""

from __future__ import annotations

import os

# Locks and renames may not hold there, and what another machine changes is not announced.
REMOTE = ("nfs", "nfs4", "cifs", "smb3", "9p", "drvfs", "virtiofs", "vboxsf", "afs", "ceph")


def file_system(path: str) -> str:
    """Return the kind of file system of `path`, empty where it cannot be known."""
    # Linux: proc(5); blanks in a mount point stand as octal escapes.
    try:
        with open("/proc/self/mounts", "rb") as file:
            lines = file.read().decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    real, mounts = os.path.realpath(path) + "/", {}
    for line in lines:
        where = line.split()[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        mounts[where.rstrip("/") + "/"] = line.split()[2]
    return mounts.get(max((mount for mount in mounts if real.startswith(mount)), key=len, default=""), "")


def is_remote(kind: str) -> bool:
    """Tell whether a file system is one that others can change without this kernel's knowing."""
    return kind in REMOTE or (kind.startswith("fuse.") and kind != "fuse.portal")
