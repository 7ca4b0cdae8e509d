#!/usr/bin/env bash
# A sweep in a Slurm job: Ray on its nodes for as long as it takes. From a folder that all nodes see,
# in the environment that embedsearch is installed in:
#
#   sbatch experiments/cluster/slurm.sh scd --grid log --preset paper --storage "$SCRATCH/embedsearch"
#
# What follows the script is what follows `embedsearch sweep`. Two minutes before its time is up the
# sweep is told to stop; the same line again goes on. MLFLOW_TRACKING_URI is passed on; without it the
# store is ./mlruns, written by the first node alone.
#SBATCH --job-name=embedsearch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-node=4
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@120
set -euo pipefail

port=$((20000 + SLURM_JOB_ID % 10000))
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH="$PWD/.ray-token-$SLURM_JOB_ID"
export RAY_USAGE_STATS_ENABLED=0
(umask 077 && head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >"$RAY_AUTH_TOKEN_PATH")

sweep=''
# shellcheck disable=SC2317,SC2329  # called by the trap
finish() {
    jobs -pr | xargs -r kill 2>/dev/null || true
    wait
    rm -f "$RAY_AUTH_TOKEN_PATH"
}
trap finish EXIT
trap '[ -z "$sweep" ] || kill -TERM "$sweep"' TERM

address_of() { # NODE
    srun --nodes=1 --ntasks=1 --nodelist="$1" hostname --ip-address | tr ' ' '\n' | grep -m 1 -F .
}
start_ray() { # NODE ADDRESS OPTION...
    srun --nodes=1 --ntasks=1 --nodelist="$1" ray start --block --node-ip-address="$2" \
        --num-cpus="${SLURM_CPUS_PER_TASK:-1}" --num-gpus="${SLURM_GPUS_ON_NODE:-0}" \
        --object-store-memory=500000000 "${@:3}" >/dev/null &
}

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=$(address_of "${nodes[0]}")
start_ray "${nodes[0]}" "$head" --head --port="$port" --include-dashboard=false \
    --temp-dir="/tmp/ray-$SLURM_JOB_ID"
for _ in $(seq 60); do
    ray status --address "$head:$port" >/dev/null 2>&1 && break
    sleep 2
done
for node in "${nodes[@]:1}"; do
    start_ray "$node" "$(address_of "$node")" --address="$head:$port"
done

python -m embedsearch.sweep "$@" --address "$head:$port" &
sweep=$!
until wait "$sweep"; do # a signal ends the wait, not the sweep
    code=$?
    kill -0 "$sweep" 2>/dev/null || exit "$code"
done
