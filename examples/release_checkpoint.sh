#!/usr/bin/env bash
# Measure everything anew that depends on a checkpoint's weights, in the order in which one needs the other:
#     examples/release_checkpoint.sh checkpoints/en-de CORPUS.tsv.gz TEST.tsv.gz ...
# CORPUS is for the atlas, each TEST for BLEU and chrF. The scores in docs/checkpoints.md are changed by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python} folder=$1 corpus=$2 scratch=$(mktemp -d)
shift 2
headlight() { "$python" -m headlight "$@"; }

headlight importance --checkpoint "$folder" --pairs "$folder/samples.tsv" --out "$scratch/importance.csv"
headlight align --checkpoint "$folder" --gold "examples/alignment/$(basename "$folder")" --out "$folder/alignment.json"
headlight atlas --checkpoint "$folder" --pairs "$corpus" --importance "$scratch/importance.csv" --out "$scratch/atlas"
cp "$scratch/atlas/atlas.json" "$folder/atlas.json"
for test; do
  for beam in 1 5; do headlight evaluate --checkpoint "$folder" --pairs "$test" --beam "$beam" --write; done
done
"$python" -m examples.score_words "$folder"
headlight lessons check headlight/lessons/shipped/*.toml
headlight lessons measures >docs/measures.md
"$python" -m examples.execute
headlight film "The cat is hungry because it has not eaten." --out docs/whole_pass.gif
