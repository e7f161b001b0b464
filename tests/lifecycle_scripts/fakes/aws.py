"""A strict stand-in of the AWS CLI: it accepts only the calls that nodes make, with the options of the real one.

It records each call in `$FAKE_AWS/calls`, serves and stores objects below `$FAKE_AWS/s3`, and fails or hangs if the
files `$FAKE_AWS/fail.<service>` or `$FAKE_AWS/hang.<service>` exist.
"""

import argparse
import fnmatch
import json
import os
import shutil
import sys
import time
from pathlib import Path

FAKE = Path(os.environ["FAKE_AWS"])


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--region")
    for seconds in ("--cli-connect-timeout", "--cli-read-timeout"):
        parser.add_argument(seconds, type=int)
    parser.add_argument("--output", choices=["json"])
    services = parser.add_subparsers(dest="service", required=True)
    s3 = services.add_parser("s3", allow_abbrev=False).add_subparsers(required=True)
    copy = s3.add_parser("cp", allow_abbrev=False)
    for flag in ("--recursive", "--only-show-errors", "--no-follow-symlinks"):
        copy.add_argument(flag, action="store_true")
    copy.add_argument("--exclude", action="append", default=[])
    copy.add_argument("--include", action="append", default=[])
    copy.add_argument("source")
    copy.add_argument("target")
    copy.set_defaults(call=cp)
    metric = services.add_parser("cloudwatch", allow_abbrev=False).add_subparsers(required=True)
    metric = metric.add_parser("put-metric-data", allow_abbrev=False)
    metric.add_argument("--namespace", required=True)
    metric.add_argument("--metric-data", required=True, type=json.loads)
    metric.set_defaults(call=put_metric_data)
    events = services.add_parser("events", allow_abbrev=False).add_subparsers(required=True)
    events = events.add_parser("put-events", allow_abbrev=False)
    events.add_argument("--entries", required=True, type=json.loads)
    events.set_defaults(call=put_events)

    requested = parser.parse_args()
    with (FAKE / "calls").open("a") as file:
        reported = {name: value for name, value in vars(requested).items() if name != "call"}
        file.write(json.dumps(reported) + "\n")
    if (FAKE / f"hang.{requested.service}").exists():
        time.sleep(60)
    if (FAKE / f"fail.{requested.service}").exists():
        print((FAKE / f"fail.{requested.service}").read_text(), file=sys.stderr)
        return 1
    return requested.call(requested)


def cp(requested: argparse.Namespace) -> int:
    """Copy, unless the request is signed for another partition than that of the file `$FAKE_AWS/partition`.

    Source: document botocore/configprovider.py (1.44.5), as in version 1 of the AWS CLI: the region comes from options,
    environment and configuration, never from the metadata service; S3 without a region is `aws-global` of the partition
    `aws` (botocore/data/endpoints.json).
    """
    prefixes = {"us-gov": "aws-us-gov", "cn-": "aws-cn"}
    signed = next((name for prefix, name in prefixes.items() if (requested.region or "").startswith(prefix)), "aws")
    if (FAKE / "partition").exists() and (FAKE / "partition").read_text() != signed:
        print("fatal error: An error occurred (403) when calling the HeadObject operation: Forbidden", file=sys.stderr)
        return 1
    source, target = place(requested.source), place(requested.target)
    if not requested.recursive:
        if not requested.source.startswith("s3://"):
            return 2
        if not source.is_file():
            print(
                "fatal error: An error occurred (404) when calling the HeadObject operation: Not Found", file=sys.stderr
            )
            return 1
        shutil.copyfile(source, target)
        return 0
    files = [path for path in sorted(source.rglob("*")) if path.is_file()]
    for path in files:
        name = path.relative_to(source).as_posix()
        left_out = any(fnmatch.fnmatch(name, pattern) for pattern in requested.exclude)
        if not left_out or any(fnmatch.fnmatch(name, pattern) for pattern in requested.include):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / name)
            if (FAKE / "stop.after.one").exists():
                (FAKE / "stopped").write_text(str(os.getpid()))
                time.sleep(60)
    return 0


def place(name: str) -> Path:
    return FAKE / "s3" / name.removeprefix("s3://") if name.startswith("s3://") else Path(name)


def put_metric_data(requested: argparse.Namespace) -> int:
    for datum in requested.metric_data:
        assert set(datum) == {"MetricName", "Value", "Unit", "Dimensions"}
        assert all(set(each) == {"Name", "Value"} for each in datum["Dimensions"])
    return 0 if all(datum["Value"] == 1 for datum in requested.metric_data) else 2


def put_events(requested: argparse.Namespace) -> int:
    for entry in requested.entries:
        assert set(entry) == {"Source", "DetailType", "Detail", "EventBusName"}
        json.loads(entry["Detail"])
    refused = (FAKE / "refuse.events").exists()
    print(json.dumps({"FailedEntryCount": int(refused), "Entries": [{"ErrorCode": "InternalFailure"}]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
