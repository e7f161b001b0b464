#!/usr/bin/env bash
# Options of the training programs, from the settings; the compile stage uses them too. Sourced by common.sh.
# shellcheck disable=SC2034,SC2154

# Reads the settings of the training stage, for the compile stage. Sets `training` to the name of that stage.
settings_of_training() {
  local nodes
  training=train
  [[ "${BACKEND}" != nemo-megatron ]] || training=train-nemo-megatron
  read_settings "${training}.sbatch"
  # shellcheck source=/dev/null
  source <(sed -n '/^# Settings$/,/^# End of settings$/p' "${SLURM_SUBMIT_DIR}/${training}.sbatch")
  nodes="$(sed -n 's/^#SBATCH --nodes=//p' "${SLURM_SUBMIT_DIR}/${training}.sbatch")"
  [[ "${nodes:-1}" == "${SLURM_JOB_NUM_NODES:-1}" ]] ||
    echo "  note: ${training}.sbatch requests ${nodes:-1} nodes, and the graphs depend on the number of nodes"
}

# Sets `options` to the options of the training program.
train_options() {
  options=(
    --run-folder "${RUN_FOLDER}" --model "${RUN_FOLDER}/weights" --backend "${BACKEND}" --precision "${PRECISION}"
    --activation-checkpointing "${ACTIVATION_CHECKPOINTING}" --sequence-length "${SEQUENCE_LENGTH}"
    --tensor-parallel "${TENSOR_PARALLEL}" --pipeline-parallel "${PIPELINE_PARALLEL}"
    --context-parallel "${CONTEXT_PARALLEL}" --shard-degree "${SHARD_DEGREE}"
    --global-batch "${GLOBAL_BATCH}" --micro-batch "${MICRO_BATCH}" --seed "${SEED}" --steps "${STEPS}"
    --learning-rate "${LEARNING_RATE}" --warmup-steps "${WARMUP_STEPS}" --weight-decay "${WEIGHT_DECAY}"
    --checkpoint-every "${CHECKPOINT_EVERY}" --checkpoints-kept "${CHECKPOINTS_KEPT}"
  )
  [[ "${FROM_WEIGHTS}" != true ]] || options+=(--from-weights "${RUN_FOLDER}/weights")
  [[ -z "${MIRROR}" ]] || options+=(--mirror "${MIRROR}")
  [[ ! -r "${SLURM_SUBMIT_DIR}/smp_config.json" ]] || options+=(--smp-config "${SLURM_SUBMIT_DIR}/smp_config.json")
  [[ "${BACKEND}" != neuron ]] || neuron_variables
  [[ "${BACKEND}" != smp ]] || export LLM_FLEET_SMP_BACKEND="${SMP_BACKEND}"
}

# Compiler flags for transformers, from AWS's tp_zero1 scripts. The cache key of compiled graphs contains them. A value
# that is already set is kept.
neuron_variables() {
  local flags="--model-type transformer --distribution-strategy=llm-training"
  export NEURON_CC_FLAGS="${NEURON_CC_FLAGS-${flags}}" NEURON_FUSE_SOFTMAX="${NEURON_FUSE_SOFTMAX-1}"
}

# Sets `options` to the options of neuronx-nemo-megatron; $1: steps, $2: False to write no logs and checkpoints. Its
# checkpoints have a format of their own; it resumes from the newest one, which its examples do not.
nemo_options() {
  [[ -r "${NEMO_FOLDER}/megatron_gpt_pretraining.py" ]] ||
    fail LFJ46 "NEMO_FOLDER is '${NEMO_FOLDER}', which has no megatron_gpt_pretraining.py" \
      "set it to nemo/examples/nlp/language_modeling of a clone of neuronx-nemo-megatron on shared storage"
  [[ -r "${NEMO_DATA}.bin" && -r "${NEMO_DATA}.idx" ]] ||
    fail LFJ46 "NEMO_DATA is '${NEMO_DATA}', but there are no .bin and .idx files with this name" \
      "create them with preprocess_data_for_megatron.py of neuronx-nemo-megatron, and set NEMO_DATA to their path"
  nemo_shape
  local granularity="${ACTIVATION_CHECKPOINTING}"
  [[ "${granularity}" != none ]] || granularity=null
  options=(
    --config-path=conf --config-name=megatron_llama_config
    trainer.devices="${LLM_FLEET_PROCESSES}" trainer.num_nodes="${SLURM_JOB_NUM_NODES:-1}" trainer.max_epochs=null
    trainer.max_steps="$1" trainer.val_check_interval="$1" trainer.limit_val_batches=1 trainer.limit_test_batches=1
    trainer.log_every_n_steps=1 trainer.accumulate_grad_batches=1 trainer.precision=32
    model.tokenizer.type="${RUN_FOLDER}/weights" "model.data.data_prefix=[1.0,${NEMO_DATA}]" model.data.num_workers=1
    model.data.seq_length="${SEQUENCE_LENGTH}" model.encoder_seq_length="${SEQUENCE_LENGTH}"
    model.max_position_embeddings="${SEQUENCE_LENGTH}" model.micro_batch_size="${MICRO_BATCH}"
    model.global_batch_size="${GLOBAL_BATCH}" model.tensor_model_parallel_size="${TENSOR_PARALLEL}"
    model.pipeline_model_parallel_size="${PIPELINE_PARALLEL}" model.seed="${SEED}" "${shape[@]}"
    model.init_method_std=0.021 model.hidden_dropout=0 model.use_cpu_initialization=True model.sequence_parallel=True
    model.activations_checkpoint_granularity="${granularity}" model.activations_checkpoint_method=uniform
    model.activations_checkpoint_num_layers=1 +model.save_xser=True +model.load_xser=True
    model.optim.name=adamw model.optim.capturable=True model.optim.lr="${LEARNING_RATE}" "model.optim.betas=[0.9,0.95]"
    model.optim.weight_decay="${WEIGHT_DECAY}" model.optim.sched.name=CosineAnnealing
    model.optim.sched.warmup_steps="${WARMUP_STEPS}" model.optim.sched.constant_steps=0 model.optim.sched.min_lr=3.0e-5
    exp_manager.explicit_log_dir="${RUN_FOLDER}/nemo" exp_manager.create_tensorboard_logger="${2:-True}"
    exp_manager.create_checkpoint_callback="${2:-True}" exp_manager.resume_if_exists="${2:-True}"
    exp_manager.resume_ignore_no_checkpoint=True exp_manager.checkpoint_callback_params.save_top_k="${CHECKPOINTS_KEPT}"
    +exp_manager.checkpoint_callback_params.every_n_train_steps="${CHECKPOINT_EVERY}"
  )
  nemo_variables
}

# Sets `shape` from the model's config.json.
nemo_shape() {
  mapfile -t shape < <(
    python3 - "${RUN_FOLDER}/weights/config.json" <<'PYTHON'
import json, sys
config = json.load(open(sys.argv[1]))
if config.get("num_key_value_heads", config["num_attention_heads"]) != config["num_attention_heads"]:
    sys.exit("the model has grouped-query attention, which megatron_llama_config does not support")
for theirs, ours in {
    "num_layers": "num_hidden_layers",
    "hidden_size": "hidden_size",
    "ffn_hidden_size": "intermediate_size",
    "num_attention_heads": "num_attention_heads",
    "layernorm_epsilon": "rms_norm_eps",
}.items():
    print(f"model.{theirs}={config[ours]}")
PYTHON
  )
  ((${#shape[@]} == 5)) ||
    fail LFJ46 "this stage does not support the model's config.json, see above" "download Llama-2-7B or 13B"
}

# The variables of neuronx-nemo-megatron's train_setup.sh, without its sudo. A value that is already set is kept.
nemo_variables() {
  export NEMO_FOLDER HYDRA_FULL_ERROR=1 NEMO_EXPM_VERSION="${SLURM_JOB_ID:-0}"
  export NEURON_RT_EXEC_TIMEOUT="${NEURON_RT_EXEC_TIMEOUT-100}" NEURON_RT_STOCHASTIC_ROUNDING_EN=1
  export NEURON_TRANSFER_WITH_STATIC_RING_OPS="" NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=5
  export BUCKET_CAP_MB="${BUCKET_CAP_MB-1024}" MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX-128}"
  export TF_NUM_INTEROP_THREADS=1024 XLA_THREAD_POOL_SIZE=4 XLA_IO_THREAD_POOL_SIZE=4
  local flags="--model-type transformer --distribution-strategy=llm-training --enable-mixed-precision-accumulation"
  export NEURON_CC_FLAGS="${NEURON_CC_FLAGS-${flags}}"
  # bf16 with stochastic rounding, as in the launch post; or fp32 throughout.
  [[ "${PRECISION}" != mixed ]] || export XLA_USE_BF16=1
}
