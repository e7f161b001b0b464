"""Trains a small character model on the text of the channel `train`: an example of a SageMaker job's script.

It reads its folders from the variables that SageMaker sets (SM_CHANNEL_TRAIN, SM_MODEL_DIR). It writes a checkpoint
every few steps and on SIGTERM, continues from the newest one after a restart, and prints the lines from which SageMaker
reads the job's metrics. With torchrun every process trains on its own part of the data; the first one writes the
checkpoints.
"""

import argparse
import os
import signal
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class CharacterModel(nn.Module):
    """Predicts the next character from the previous ones."""

    def __init__(self, characters: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, width)
        self.recurrent = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, characters)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """Return a score for each next character at each position of `text` (batch, length)."""
        states, _ = self.recurrent(self.embedding(text))
        return self.head(states)


class Checkpoints:
    """Folder of `step-00000100.pt` files; SageMaker copies new files to S3."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def newest(self) -> Path | None:
        """Return the last complete checkpoint."""
        return max(self.folder.glob("step-*.pt"), default=None)

    def save(self, step: int, state: dict) -> None:
        """Write to another name first, so that a killed job leaves no incomplete checkpoint."""
        place = self.folder / f"step-{step:08}.pt"
        torch.save(state, place.with_suffix(".part"))
        place.with_suffix(".part").rename(place)


def arguments() -> argparse.Namespace:
    """Return the hyperparameters; SageMaker's toolkit passes them as `--name value`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--save_every", type=int, default=50)
    parser.add_argument("--log_every", type=int, default=10)
    parser.add_argument("--checkpoints", type=Path, default=Path("/opt/ml/checkpoints"))
    return parser.parse_args()


def read_text(folder: Path) -> torch.Tensor:
    """Return all bytes of all files below `folder`, in the order of their names."""
    data = b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())
    return torch.tensor(list(data), dtype=torch.long)


def main() -> None:
    """Train."""
    reported = arguments()
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if torch.cuda.is_available() else "cpu"
    if world > 1:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    stopping: list[int] = []
    # SageMaker sends this when a job is stopped or reaches its maximum run time, and waits two minutes.
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))

    text = read_text(Path(os.environ["SM_CHANNEL_TRAIN"]))
    torch.manual_seed(0)
    model = CharacterModel(256, reported.width).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=reported.rate)
    checkpoints, first = Checkpoints(reported.checkpoints), 0
    if newest := checkpoints.newest():
        state = torch.load(newest, map_location=device, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
        print(f"resumed from {newest.name}", flush=True)
    trained = DistributedDataParallel(model) if world > 1 else model

    since = time.monotonic()
    for step in range(first + 1, reported.steps + 1):
        choice = torch.Generator().manual_seed(step * world + rank)
        starts = torch.randint(len(text) - reported.length - 1, (reported.batch,), generator=choice)
        batch = torch.stack([text[start : start + reported.length + 1] for start in starts]).to(device)
        scores = trained(batch[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank:
            continue
        if step % reported.log_every == 0:
            rate = reported.log_every * reported.batch * world / (time.monotonic() - since)
            print(f"step={step} loss={loss.item():.4f} samples_per_second={rate:.1f}", flush=True)
            since = time.monotonic()
        if step % reported.save_every == 0 or step == reported.steps or stopping:
            checkpoints.save(step, {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()})
        if stopping:
            print(f"stopped after step {step}, which is saved", flush=True)
            return
    if rank == 0:
        torch.save(model.state_dict(), Path(os.environ["SM_MODEL_DIR"], "model.pt"))
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
