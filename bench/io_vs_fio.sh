#!/bin/sh
# Our reads beside fio's, in turns on the same file, the ratio of the medians.
#
#   bench/io_vs_fio.sh BENCH_READER [FOLDER [ROUNDS [SECONDS]]]
#
# BENCH_READER  the program built with -DOUTGROW_BENCH=ON
# FOLDER        where a 2 GiB file is written and removed again [.]
#
# Lines: load, fio's median, ours, ratio, and the ratio asked for. Both sides read through io_uring
# with O_DIRECT. Random reads are compared at each side's own best depth; sequential reads are
# compared with the best of fio's (size, depth). Our buffers are huge pages; so are fio's, where
# vm.nr_hugepages spares 64 MiB (else glibc is asked for them, which succeeds in part: without huge
# pages fio reads at half the speed on some virtual disks). Exit 1 when a ratio falls short.
set -eu

[ $# -ge 1 ] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
reader=$1
folder=${2:-.}
rounds=${3:-5}
seconds=${4:-3}
command -v fio >/dev/null || { echo "io_vs_fio: fio is not installed" >&2; exit 2; }

file=$(mktemp "$folder/outgrow-fio-XXXXXX")
results=$(mktemp -d)
trap 'rm -rf "$file" "$results"' EXIT
trap 'exit 130' INT TERM
# Random bytes: a storage that compresses would flatter both sides.
dd if=/dev/urandom of="$file" bs=4M count=512 conv=fsync status=none

free_pages=$(awk '/^HugePages_Free/ {print $2}' /proc/meminfo)
memory=malloc
[ "${free_pages:-0}" -lt 32 ] || memory=mmaphuge
echo "fio's buffers: $memory"

# fio_rate rw bytes depth -> reads a second
fio_rate() {
    GLIBC_TUNABLES=glibc.malloc.hugetlb=1 fio --name=x --filename="$file" --rw="$1" --bs="$2" \
        --iodepth="$3" --ioengine=io_uring --direct=1 --registerfiles=1 --fixedbufs=1 \
        --iomem="$memory" --norandommap --time_based --runtime="$seconds" \
        --output-format=terse --terse-version=3 | cut -d';' -f8
}

# our_rate what bytes depth -> reads a second
our_rate() {
    "$reader" "$file" "$1" uring "$2" "$3" "$seconds" | sed 's/.* iops=\([0-9]*\).*/\1/'
}

median() {
    sort -n "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'
}

# best_shape rate_function what shape... -> the shape "bytes:depth" that moved most bytes
best_shape() {
    f=$1
    what=$2
    shift 2
    for shape in "$@"; do
        bytes=${shape%:*}
        echo "$(($($f "$what" "$bytes" "${shape#*:}") * bytes)) $shape"
    done | sort -n | tail -1 | cut -d' ' -f2
}

# compare name fio_rw fio_shape our_what our_bytes our_depth target
#   our_bytes: of a read; with all-rows, of a row, and reads are then 256 KiB
status=0
compare() {
    name=$1
    fio_bytes=${3%:*}
    rm -f "$results/fio" "$results/ours"
    i=0
    while [ "$i" -lt "$rounds" ]; do
        r=$(fio_rate "$2" "$fio_bytes" "${3#*:}")
        echo $((r * fio_bytes)) >>"$results/fio"
        case $4 in
        *rows) "$reader" "$file" "$4" uring "$5" "$6" "$seconds" |
            sed 's/.* bytes_per_second=\([^ ]*\).*/\1/' >>"$results/ours" ;;
        *) echo $(($(our_rate "$4" "$5" "$6") * $5)) >>"$results/ours" ;;
        esac
        i=$((i + 1))
    done
    awk -v name="$name" -v fio="$(median "$results/fio")" -v ours="$(median "$results/ours")" \
        -v target="$7" -v shape="$3" 'BEGIN {
        ratio = ours / fio
        printf "%-28s fio %8.1f MB/s (%s)  ours %8.1f MB/s  ratio %.3f  (target %s)  %s\n",
            name, fio / 1e6, shape, ours / 1e6, ratio, target, (ratio >= target) ? "ok" : "SHORT"
        exit (ratio < target) }' || status=1
}

depths="4096:32 4096:64 4096:128 4096:256"
sizes="131072:32 262144:8 262144:16 524288:8 524288:16 1048576:4 1048576:8"
# shellcheck disable=SC2086
fio_random=$(best_shape fio_rate randread $depths)
# shellcheck disable=SC2086
our_random=$(best_shape our_rate random $depths)
# shellcheck disable=SC2086
fio_sequential=$(best_shape fio_rate read $sizes)
# shellcheck disable=SC2086
our_sequential=$(best_shape our_rate sequential $sizes)

compare "engine, random 4 KiB" randread "$fio_random" random 4096 "${our_random#*:}" 0.90
compare "reader, random 4 KiB rows" randread "$fio_random" rows 4096 "${our_random#*:}" 0.90
compare "engine, sequential" read "$fio_sequential" sequential "${our_sequential%:*}" \
    "${our_sequential#*:}" 0.95
compare "reader, all rows of 512 B" read "$fio_sequential" all-rows 512 128 0.95
compare "reader, all rows of 400 B" read "$fio_sequential" all-rows 400 128 0.95
exit $status
