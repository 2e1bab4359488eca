#!/bin/sh
# without_models.sh COMMAND LIBRARY: of a build without models, what computes is refused in one line,
# all else works, and neither oneDNN nor OpenMP is linked.
set -eu
outgrow=$1 library=$2
root=$(mktemp -d "${TMPDIR:-/tmp}/og-without-XXXXXX")
trap 'rm -rf "$root"' EXIT
fail() {
    echo "without_models: $*" >&2
    exit 1
}

for file in "$outgrow" "$library"; do
    if ldd "$file" | grep -E 'dnnl|gomp|libomp'; then fail "$file: linked with that"; fi
done

"$outgrow" generate "$root/graph" --nodes 500 --dim 8 --quiet
"$outgrow" sample "$root/graph" --out "$root/trace" --epochs 1 --batch 32 --fanout 3,2 --quiet >/dev/null
"$outgrow" plan "$root/graph" --batch 32 --fanout 3,2 --json >"$root/plan"
"$outgrow" bench epoch "$root/graph" --batch 32 --fanout 3,2 --epochs 1 --json >"$root/bench"
grep -q '"activations": 0' "$root/plan" || fail "a plan with a model"

refuse() {
    if "$outgrow" "$@" >/dev/null 2>"$root/message"; then fail "$*: it computed something"; fi
    grep -q '^outgrow: this build of outgrow has no models' "$root/message" ||
        fail "$*: $(cat "$root/message")"
}
refuse train "$root/graph" --run "$root/run" --batch 32 --fanout 3,2
refuse predict "$root/graph" --checkpoint none --out "$root/out.npy"
refuse eval "$root/graph" --checkpoint none --full
refuse eval "$root/graph" --checkpoint none
refuse bench gemm
refuse bench train "$root/graph"
