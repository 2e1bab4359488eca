#!/bin/sh
# Structure read in sequence: `--topology disk` with batches sampled together, beside each by itself and beside memory.
#   bench/structure.sh OUTGROW FOLDER       5 GB in FOLDER, removed afterwards; a quiet machine for the seconds
# NODES=2097152 FRACTION=0.038 is a quarter of it. PARTS=prepare makes the graph and keeps it; then PARTS="memory disk alone ginex", or some
# of them, take it from there, and PARTS=remove ends it. For a bound that the kernel keeps too, run it in a control group:
#   systemd-run --scope -p MemoryMax=700M bench/structure.sh OUTGROW FOLDER
set -eu
outgrow=$1
folder=$2/structure-bench
small=${SMALL:-600M}
large=${LARGE:-1112M}
parts=${PARTS:-prepare memory disk alone ginex remove}
mkdir -p "$folder"
case $parts in *remove*) trap 'rm -rf "$folder"' EXIT ;; esac
case $parts in *prepare*)
    "$outgrow" generate "$folder/graph" --model rmat --nodes "${NODES:-8388608}" --degree 16 --dim 128 --train-fraction "${FRACTION:-0.0095}" >/dev/null
    ;;
esac

# PART NAME OPTION...: one line a run
epoch() {
    case " $parts " in *" $1 "*) ;; *) return 0 ;; esac
    name=$2
    shift 2
    "$outgrow" bench epoch "$folder/graph" --fanout 10,10,10 --epochs "${EPOCHS:-2}" --scratch "$folder" --json "$@" >"$folder/out.json"
    python3 - "$name" "$folder/graph/indices.npy" "$folder/out.json" <<'P'
import json, os, sys
name, lists, path = sys.argv[1:]
told = json.load(open(path))
epochs, plan, predicted = told["epochs"], told["plan"], told["plan"]["predicted"]
mean = lambda key: sum(e[key] for e in epochs) / len(epochs)
groups = max(1, sum(e["topology_passes"] for e in epochs) // 3)
print(f"{name:28} {plan['policy']} {plan['layout']}, superbatch {plan['superbatch']}, together {plan['together']}: {mean('seconds'):.2f} s an epoch, "
      f"{mean('topology_passes'):.1f} passes, {mean('topology_bytes_read') / 1e9:.2f} GB, "
      f"{sum(e['topology_bytes_read'] for e in epochs) / os.path.getsize(lists) / groups:.2f} times the file a group, "
      f"told {predicted['topology_bytes_read'] / 1e9 if predicted else 0:.2f} GB, peak {told['peak_rss_bytes'] >> 20} MiB")
P
}
epoch memory "memory, $large" --memory "$large" --topology memory
epoch disk "disk, $small" --memory "$small" --topology disk
epoch alone "disk, $small, each by itself" --memory "$small" --topology disk --sample-group 1
epoch ginex "disk, $small, ginex" --memory "$small" --preset ginex
