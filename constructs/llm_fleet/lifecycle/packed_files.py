"""Files for scripts that hand them to a machine in their own text."""

import base64
import bz2
import io
import tarfile
from collections.abc import Callable, Mapping

_COLUMNS = 76
_RUN = 0o755
_READ = 0o644


def packed(
    files: Mapping[str, bytes],
    *,
    executable: frozenset[str] = frozenset(),
    encode: Callable[[bytes], bytes] = base64.b64encode,
) -> str:
    """Return `files`, by their paths, as a tar archive, packed by bzip2, in lines of base64.

    `executable`: which of the paths have their run bits set. `encode`: `base64.b85encode` where every byte counts; a
    shell cannot decode it.
    The same bytes on every machine: another text would be another template, and would replace what runs it.
    Python's zlib is not the same everywhere, its bzip2 is.
    """
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            entry.mode = _RUN if path in executable else _READ
            archive.addfile(entry, io.BytesIO(data))
    text = encode(bz2.compress(held.getvalue())).decode()
    return "\n".join(text[start : start + _COLUMNS] for start in range(0, len(text), _COLUMNS))
