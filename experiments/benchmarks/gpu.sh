#!/usr/bin/env bash
# What a GPU adds: its tests, a bf16 trial of SCD and of SimCSE at BERT-base size, four trials on one
# card, sentences a second and peak memory beside sentence-transformers. Five minutes at most.
#
#   bash experiments/benchmarks/gpu.sh [DEVICE [LAYERS [DIM [STEPS]]]]
#
# DEVICE cpu, with a small size and few steps, runs the same parts without a card.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "${IN_TIME:-}" ] || IN_TIME=1 exec timeout 300 bash "experiments/benchmarks/$(basename "$0")" "$@"
device=${1:-cuda} layers=${2:-12} dim=${3:-768} steps=${4:-100}
share=(--gpus-per-trial 0.25)
[ "$device" = cuda ] || share=(--cpus-per-trial 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }
embedsearch() {
    python -m embedsearch "$@" --preset demo --backbone "$work/bert" --device "$device" \
        --steps "$steps" --eval-steps "$steps" --store "$work/mlruns"
}

step "card"
if [ "$device" = cuda ]; then
    nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
fi
step "gpu tests"
python -m pytest -q -rs -m gpu tests
python -m experiments.benchmarks.backbone "$work/bert" --layers "$layers" --dim "$dim"
for method in scd simcse; do
    step "one trial of $method, $layers x $dim"
    embedsearch train "$method"
done
step "four trials at once"
embedsearch sweep scd --grid log --max-trials 4 "${share[@]}"
step "beside sentence-transformers"
python -m experiments.benchmarks --only training --backbone "$work/bert" --device "$device" \
    --steps "$steps" --repeats 3
step "done"
