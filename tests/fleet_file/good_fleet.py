"""A small valid fleet file, to which tests add errors."""

GOOD = """\
fleet: test
region: us-west-2
network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}
storage:
  fsx: {size: 4800 GiB, throughput: 250 MB/s/TiB}
  buckets: {data: {}}
clusters:
  ml:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}
"""


def edited(*edits: str) -> str:
    """Return the valid file after `edits`: each first string, which must occur, is replaced by the next one."""
    return edited_text(GOOD, *edits)


def edited_text(text: str, *edits: str) -> str:
    """Return `text` with the same kind of edits."""
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in text, f"the good fleet file has no {old!r}"
        text = text.replace(old, new)
    return text
