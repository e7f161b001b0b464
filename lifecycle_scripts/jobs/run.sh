#!/usr/bin/env bash
# Settings that all stages of a run share: each batch file beside this one reads it. As it is: Llama-2-7B on 4 trn1.
# Values are bash: quote what holds spaces or signs. LLM_FLEET_… are told by the nodes, in /etc/llm-fleet/training.sh.
# shellcheck disable=SC2034,SC2154

# Settings
RUN=llama2-7b                                     # name of the run
RUN_FOLDER="${LLM_FLEET_TRAINING%/*}/runs/${RUN}" # where all of the run lies, on storage that all nodes share
MODEL=meta-llama/Llama-2-7b-hf                    # owner/name on the Hugging Face Hub, s3://bucket/prefix or a folder
REVISION=main                                     # branch, tag or commit on the Hub; empty for a model elsewhere
ENVIRONMENT=                                      # name of the environment to run in; empty: that of the nodes
BACKEND=neuron                                    # what spreads the run: neuron, fsdp, smp, cpu or nemo-megatron
PRECISION=mixed                                   # mixed: bf16, with fp32 where it matters; float32: fp32 throughout
ACTIVATION_CHECKPOINTING=full                     # what is computed again to save memory: none, selective or full
SEQUENCE_LENGTH=4096                              # tokens of a sequence
TENSOR_PARALLEL=8                                 # processes that a layer is spread over
PIPELINE_PARALLEL=1                               # groups of processes that layers are shared out to (nemo-megatron)
CONTEXT_PARALLEL=1                                # processes that a sequence is shared out to (smp)
SHARD_DEGREE=0                                    # processes that weights are sharded over (fsdp, smp); 0: all
SMP_BACKEND=auto                                  # whose collectives smp uses: auto, nccl or smddp
GLOBAL_BATCH=256                                  # sequences of a step, over all nodes
MICRO_BATCH=1                                     # sequences that a process works on at once
SEED=1234                                         # what chance begins with
MIRROR=                                           # s3://bucket/prefix that checkpoints are copied to; empty: nowhere
# End of settings
