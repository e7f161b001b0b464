"""Secrets of each form, and how they are written where they leak."""

import base64
import random

_DICE = random.Random(8)


def _signs(count: int, of: str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") -> str:
    return "".join(_DICE.choice(of) for _ in range(count))


def _base64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


_PEM_LINES = [_signs(64) for _ in range(3)]
PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "\n".join(_PEM_LINES) + "\n-----END OPENSSH PRIVATE KEY-----"

BARE = {
    "access key id": "AKIA" + _signs(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "temporary key id": "ASIA" + _signs(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "secret access key": "aB3/" + _signs(36),
    "session token": "IQoJb3JpZ2luX2Vj" + _signs(300),
    "older session token": "FwoGZXIvYXdzE" + _signs(200),
    "JWT": f"eyJ{_base64('hbGciOiJIUzI1NiJ9')}.{_base64('subject of it all')}.{_signs(43)}",
    "Hugging Face": "hf_" + _signs(34),
    "GitHub": "ghp_" + _signs(36),
    "GitHub, fine": "github_pat_" + _signs(50),
    "NVIDIA": "nvapi-" + _signs(40),
    "Slack": "xoxb-" + _signs(30, "0123456789") + "-" + _signs(20),
    "hash of a password": "$6$" + _signs(8) + "$" + _signs(60),
}
"""Known by themselves, wherever they stand."""

_NAMED = [_signs(11) for _ in range(14)]
IN_CONTEXT = {
    "YAML": (f"db_password: {_NAMED[0]}", _NAMED[0]),
    "YAML in quotes": (f'token: "{_NAMED[1]}"', _NAMED[1]),
    "YAML, several words": (f"passphrase: correct horse {_NAMED[2]}", _NAMED[2]),
    "YAML block": (f"  api_key: |\n    {_NAMED[3]}\n  next: 1", _NAMED[3]),
    "YAML nested": (f"secrets:\n  - {_NAMED[4]}\nnext: 1", _NAMED[4]),
    "YAML flow, after an ARN": (f"{{secret: arn:aws:x, password: {_NAMED[5]}}}", _NAMED[5]),
    "shell": (f"export WANDB_API_KEY={_NAMED[6]}", _NAMED[6]),
    "shell, with a comma": (f"MYSQL_PWD=a,{_NAMED[7]}", _NAMED[7]),
    "option": (f"mysql --password {_NAMED[8]} -e 'show tables'", _NAMED[8]),
    "JSON": (f'{{"SecretAccessKey": "{_NAMED[9]}", "b": 1}}', _NAMED[9]),
    "JSON in JSON": (f'{{"m": "{{\\"password\\": \\"{_NAMED[10]}\\"}}"}}', _NAMED[10]),
    "header": (f"Authorization: Bearer {_NAMED[11]}", _NAMED[11]),
    "URL": (f"git clone https://bob:{_NAMED[12]}@git.example.com/x.git", _NAMED[12]),
    "curl": (f"curl -u bob:{_NAMED[13]} https://example.com", _NAMED[13]),
    "Slack's hook": (f"https://hooks.slack.com/services/T0/B0/{BARE['GitHub'][4:28]}", BARE["GitHub"][4:28]),
    "signed URL": (
        f"https://b.s3.amazonaws.com/k?X-Amz-Signature={_PEM_LINES[0][:40].lower()}",
        _PEM_LINES[0][:40].lower(),
    ),
}
"""Known by the name beside them: the text, and what must be gone of it."""

HARMLESS = (
    "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf",
    "max_tokens: 4096",
    "tokenizer: meta-llama/Llama-2-7b",
    "not authorized to perform: secretsmanager:GetSecretValue on resource x",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 4af0539d1e2c3b4a5968778695a4b3c2d1e0f9a8",
    "LFN31  mount_lustre: mount: server not found",
    "i-0123456789abcdef0 ip-10-1-0-12 sg-0123456789abcdef0",
    "s3://sagemaker-my-bucket/lifecycle/4af0539d1e2c3b4a/on_create.sh",
)
"""What support needs, and is no secret."""


def everything() -> str:
    """Return a text with all of them, each on lines of its own, as a log has them."""
    bare = [f"2026-11-22T03:00:00Z  said {value} to it" for value in BARE.values()]
    return "\n".join([*bare, *(text for text, _ in IN_CONTEXT.values()), PEM, ""])


def leaked(text: str) -> list[str]:
    """Return the names of the secrets that are still in `text`."""
    bare = [name for name, value in BARE.items() if value in text]
    named = [name for name, (_, value) in IN_CONTEXT.items() if value in text]
    return [*bare, *named, *(["private key"] if any(line in text for line in _PEM_LINES) else [])]
