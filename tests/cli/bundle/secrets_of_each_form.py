"""Secrets of each form, in texts that can contain them."""

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
    "Google": "AIza" + _signs(35),
    "age": "AGE-SECRET-KEY-1" + _signs(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "instance metadata": "AQAEA" + _signs(51) + "==",
    "a key of munge, in base64": base64.b64encode(_DICE.randbytes(128)).decode(),
    "hash of a password": "$6$" + _signs(8) + "$" + _signs(60),
}
"""Found by their form, anywhere in a text."""

_NAMED = [_signs(11) for _ in range(14)]
_MORE = [_signs(11) for _ in range(18)]
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
    "signed URL in HTML": (f"https://b/k?a=1&amp;X-Amz-Signature={_MORE[0]}&amp;x=1", _MORE[0]),
    "signed URL in JSON": (f'{{"u": "https://b/k?a=1\\u0026X-Amz-Security-Token={_MORE[1]}\\u0026x=1"}}', _MORE[1]),
    "signed header": (f"AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature={_MORE[2]}", _MORE[2]),
    "header of an API": (f"curl -H 'X-Api-Key: {_MORE[3]}' https://example.com", _MORE[3]),
    "JDBC": (f"jdbc:mysql://db:3306/slurm?user=a&password={_MORE[4]}&useSSL=true", _MORE[4]),
    "JDBC of Oracle": (f"jdbc:oracle:thin:bob/{_MORE[5]}@db:1521:x", _MORE[5]),
    "Docker's file": (
        f'{{"auths": {{"r.io": {{"auth": "{_base64("bob:" + _MORE[6])}"}}}}}}',
        _base64("bob:" + _MORE[6]),
    ),
    "docker login": (f"docker login -u AWS -p {_MORE[7]} r.io", _MORE[7]),
    "mysql": (f"mysql -uroot -p{_MORE[8]} slurm_acct_db", _MORE[8]),
    "SQL": (f"CREATE USER 'slurm'@'localhost' IDENTIFIED BY '{_MORE[9]}';", _MORE[9]),
    "slurmdbd.conf": (f"StoragePass={_MORE[10]}", _MORE[10]),
    "sssd.conf": (f"ldap_default_authtok = {_MORE[11]}", _MORE[11]),
    "chpasswd": (f"echo 'ada:{_MORE[12]}' | chpasswd", _MORE[12]),
    "environment of a container": (f'[{{"Name": "DB_PASSWORD", "Value": "{_MORE[13]}"}}]', _MORE[13]),
    "environment in YAML": (f"- name: HF_TOKEN\n  value: {_MORE[14]}\nnext: 1", _MORE[14]),
    ".netrc": (f"machine api.wandb.ai login user password {_MORE[15]}", _MORE[15]),
    "wandb": (f"wandb login {_MORE[16]}", _MORE[16]),
    "Discord's hook": (f"https://discord.com/api/webhooks/123456789012345678/{_MORE[17]}", _MORE[17]),
}
"""Found by the name next to them: the text, and the part that must be removed."""

HARMLESS = (
    "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf",
    "max_tokens: 4096",
    "tokenizer: meta-llama/Llama-2-7b",
    "not authorized to perform: secretsmanager:GetSecretValue on resource x",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 4af0539d1e2c3b4a5968778695a4b3c2d1e0f9a8",
    "LFN31  mount_lustre: mount: server not found",
    "i-0123456789abcdef0 ip-10-1-0-12 sg-0123456789abcdef0",
    "LlmFleetNodePortssg0123456789abcdef0507b47edOut4536F220 CREATE_COMPLETE",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAqlhRFOt0ZYgK0L0Sb8uiTZb7YMjDX9DAlQ07NNzxgA ada",
    "/aws/sagemaker/Clusters/MyCluster/0123456789ab/LifecycleConfig/Workers/x",
    "  - {Key: aws:cloudformation:stack-name, Value: post-cluster}",
    "docker login succeeded; mysql is active",
    "s3://sagemaker-my-bucket/lifecycle/4af0539d1e2c3b4a/on_create.sh",
)
"""Useful texts that are not secrets."""


def everything() -> str:
    """Return a log with all of them on separate lines."""
    bare = [f"2026-11-22T03:00:00Z  said {value} to it" for value in BARE.values()]
    return "\n".join([*bare, *(text for text, _ in IN_CONTEXT.values()), PEM, ""])


def leaked(text: str) -> list[str]:
    """Return the names of the secrets that are still in `text`."""
    bare = [name for name, value in BARE.items() if value in text]
    named = [name for name, (_, value) in IN_CONTEXT.items() if value in text]
    return [*bare, *named, *(["private key"] if any(line in text for line in _PEM_LINES) else [])]
