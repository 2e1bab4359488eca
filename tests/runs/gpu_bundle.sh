#!/bin/sh
# gpu_bundle.sh BUILD SOURCE: the bundle for machines with a GPU runs where nothing is but a shell and the usual tools, with the
# virtual device in a GPU's place; without a driver it says so in a line; one that lacks a library, or whose results differ, fails.
# 77 = skipped: a sanitizer's run time, or no root may be changed.
set -eu
build=$1 source=$2
grep -q '^OUTGROW_SANITIZE:STRING=$' "$build/CMakeCache.txt" || exit 77
top=$(mktemp -d "${TMPDIR:-/tmp}/og-gpu-XXXXXX")
trap 'rm -rf "$top"' EXIT
fail() {
    echo "gpu_bundle: $*" >&2
    exit 1
}
refused() {
    what=$1
    shift
    if "$source/tools/gpu-bundle" "$@" >"$top/said" 2>&1; then
        fail "$what is not refused"
    fi
    grep -q '^gpu-bundle: ' "$top/said" || fail "$what: $(cat "$top/said")"
}
refused "no build" "$top" "$top/none.tar.gz"
[ -e "$build/liboutgrow_cuda.so" ] || refused "a build without the plugin" "$build" "$top/none.tar.gz"
"$source/tools/gpu-bundle" --without-plugin "$build" "$top/bundle.tar.gz" >/dev/null
refused "a file that is there" --without-plugin "$build" "$top/bundle.tar.gz"

# A machine with a shell, and nothing that the command is linked with but the C library of its tools.
machine=$top/machine
mkdir -p "$machine/dev" "$machine/proc" "$machine/tmp" "$machine/bin"
for tool in sh awk basename cat cmp date dirname grep head mkdir rm sed tail tee tr uname; do
    path=$(command -v $tool)
    cp -L "$path" "$machine/bin/$tool"
    ldd "$path" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' | while read -r lib; do
        mkdir -p "$machine$(dirname "$lib")"
        cp -L "$lib" "$machine$lib"
    done
done
tar -C "$machine" -xzf "$top/bundle.tar.gz"
there() {
    unshare -rm sh -c 'mount --rbind /dev "$1/dev" && mount --rbind /proc "$1/proc" && cd "$1" && shift && exec chroot . /usr/bin/env -i "$@"' \
        sh "$machine" PATH=/bin "$@"
}
mkdir -p "$machine/usr/bin"
cp -L "$(command -v env)" "$machine/usr/bin/env"
there /bin/sh -c : 2>/dev/null || exit 77

there /bin/sh /outgrow-gpu/run --device virtual --nodes 6000 --report /tmp/report >"$top/out" 2>&1 || fail "virtual: $(cat "$top/out")"
tail -1 "$top/out" | grep -q '^all that was tried is right$' || fail "does not end well: $(cat "$top/out")"
cmp "$top/out" "$machine/tmp/report/report.txt" || fail "the report is not what was said"
for what in device test_device_ops test_device_rows test_device_models samples bytes rates epochs-64M timeline; do
    grep -q "^ok  *$what" "$top/out" || fail "nothing of $what: $(cat "$top/out")"
done
for model in gcn sage gat gatv2 gin pinsage; do
    grep -q "^ok  *$model: loss of the first epoch [0-9.]* on cpu, [0-9.]* on virtual" "$top/out" || fail "nothing of $model"
done
grep -q '^figure  *rows over the link: [0-9.]*e*[+0-9]* bytes/s, .* rows there: [0-9.]* bytes/s' "$top/out" || fail "no rates"
grep -q '^figure  *--device-memory 96M: [0-9.]* s, [1-9][0-9]* of [0-9]* rows there' "$top/out" || fail "no epochs"
grep -q '"collect"' "$machine/tmp/report/timeline.json" || fail "no timeline"

if there /bin/sh /outgrow-gpu/run --report /tmp/none >"$top/out" 2>&1; then
    fail "no driver, and nothing is said"
fi
[ "$(grep -c '^FAILED  *device: ' "$top/out")" = 1 ] || fail "without a driver: $(cat "$top/out")"
[ "$(grep -c . "$top/out")" = 2 ] || fail "goes on without a device: $(cat "$top/out")"

rm "$machine"/outgrow-gpu/lib/liburing*
if there /bin/sh /outgrow-gpu/run --device virtual --report /tmp/short >"$top/out" 2>&1; then
    fail "runs without its libraries: they are the machine's"
fi
