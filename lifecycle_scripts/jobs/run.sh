#!/usr/bin/env bash
# Settings that all stages of a run share: the batch files in this folder read them. Default: Llama-2-7B on 4 trn1.
# Values are bash: quote spaces and special characters. LLM_FLEET_… are set on nodes by /etc/llm-fleet/training.sh.
# shellcheck disable=SC2034,SC2154

# Settings
RUN=llama2-7b                                     # name of the run
RUN_FOLDER="${LLM_FLEET_TRAINING%/*}/runs/${RUN}" # folder of the run, on storage that all nodes share
MODEL=meta-llama/Llama-2-7b-hf                    # owner/name on the Hugging Face Hub, s3://bucket/prefix, or a folder
REVISION=main                                     # branch, tag or commit on the Hub; empty for other models
ENVIRONMENT=                                      # training environment; empty: that of the nodes
BACKEND=neuron                                    # training backend: neuron, fsdp, smp, cpu or nemo-megatron
PRECISION=mixed                                   # mixed: bf16 with fp32 where needed; float32: fp32 throughout
ACTIVATION_CHECKPOINTING=full                     # activations recomputed to save memory: none, selective or full
SEQUENCE_LENGTH=4096                              # tokens of a sequence
TENSOR_PARALLEL=8                                 # processes that each layer is split over
PIPELINE_PARALLEL=1                               # pipeline stages that the layers are split over (nemo-megatron)
CONTEXT_PARALLEL=1                                # processes that each sequence is split over (smp)
SHARD_DEGREE=0                                    # processes that the weights are sharded over (fsdp, smp); 0: all
SMP_BACKEND=auto                                  # collectives of smp: auto, nccl or smddp
GLOBAL_BATCH=256                                  # sequences in a step, over all nodes
MICRO_BATCH=1                                     # sequences in one forward pass of a process
SEED=1234                                         # random seed
MIRROR=                                           # s3://bucket/prefix that checkpoints are copied to; empty: none
# End of settings
