"""Peak memory of this process."""

import sys
from pathlib import Path


def peak() -> int:
    """Peak memory of this process. On Linux not `ru_maxrss`, which is inherited from the parent process."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
