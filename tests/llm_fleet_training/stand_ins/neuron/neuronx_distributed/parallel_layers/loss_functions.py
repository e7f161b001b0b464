"""Cross entropy of sliced logits. As the real one it writes into its argument."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
import torch
import torch.distributed as dist

from neuronx_distributed.parallel_layers.mappings import Reduce, summed
from neuronx_distributed.parallel_layers.parallel_state import get_tensor_model_parallel_rank
from tests.llm_fleet_training.documented import documented


@documented("neuronx_distributed.parallel_layers.loss_functions.parallel_cross_entropy")
def parallel_cross_entropy(
    vocab_parallel_logits: torch.Tensor, target: torch.Tensor, label_smoothing: float = 0.0
) -> torch.Tensor:
    highest = summed(vocab_parallel_logits.amax(-1), dist.ReduceOp.MAX)
    shifted = vocab_parallel_logits.sub_(highest.unsqueeze(-1))
    total = Reduce.apply(shifted.exp().sum(-1))
    words = shifted.shape[-1]
    own = target - get_tensor_model_parallel_rank() * words
    mine = (own >= 0) & (own < words)
    picked = shifted.gather(-1, (own * mine.long()).unsqueeze(-1)).squeeze(-1)
    return total.log() - Reduce.apply(picked * mine.to(picked.dtype))
