"""The training script as the containers' toolkit wants it: one `sourcedir.tar.gz` in S3."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

_NAME = "sourcedir.tar.gz"
_EXECUTABLE, _PLAIN = 0o755, 0o644


class SourceArchive(Construct):
    """A folder as an archive, with the same bytes and the same name on every machine and at every synth."""

    def __init__(self, scope: Construct, id: str, *, folder: Path, files: frozenset[str]) -> None:
        """Pack `files` of `folder`, each named from there with `/`."""
        super().__init__(scope, id)
        contents = {name: (folder / name).read_bytes() for name in sorted(files)}
        executable = {name for name in contents if (folder / name).stat().st_mode & 0o100}
        digest = hashlib.sha256()
        for name, data in contents.items():
            digest.update(f"{name}\0{name in executable}\0{hashlib.sha256(data).hexdigest()}\n".encode())
        with TemporaryDirectory() as place:
            archive = Path(place, _NAME)
            archive.write_bytes(pack(contents, executable))
            self.asset = s3_assets.Asset(self, "Asset", path=str(archive), asset_hash=digest.hexdigest())
            """The CDK's asset."""

    @property
    def uri(self) -> str:
        """`s3://bucket/key`, a token."""
        return self.asset.s3_object_url

    @property
    def object_arn(self) -> str:
        """The ARN of the archive alone, a token."""
        return self.asset.bucket.arn_for_objects(self.asset.s3_object_key)


def pack(contents: Mapping[str, bytes], executable: set[str]) -> bytes:
    """Return a gzipped archive of `contents`, by name, without times, owners or the machine's order."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(contents):
            entry = tarfile.TarInfo(name)
            entry.size = len(contents[name])
            entry.mode = _EXECUTABLE if name in executable else _PLAIN
            archive.addfile(entry, io.BytesIO(contents[name]))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as stream:
        stream.write(plain.getvalue())
    return packed.getvalue()
