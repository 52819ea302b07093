"""Folders for tests that start many virtual GPUs. Each of them is some two hundred small files, in the folder for temporary files where a
test names one; a disk takes longer to make and to remove them than most programs take to run."""
import os
import tempfile

MEMORY = "/dev/shm"
ROOM = 2 << 30


def in_memory(where=MEMORY):
    """Whether programs can be kept and run in a file system in memory, with room for what tests leave there."""
    try:
        status = os.statvfs(where)
    except OSError:
        return False
    return (os.path.ismount(where) and os.access(where, os.W_OK | os.X_OK) and not status.f_flag & os.ST_NOEXEC and
            status.f_bavail * status.f_frsize >= ROOM)


def scratch_folder():
    """A temporary folder, in memory unless the user has said where such folders go."""
    return tempfile.TemporaryDirectory(dir=MEMORY if "TMPDIR" not in os.environ and in_memory() else None)
