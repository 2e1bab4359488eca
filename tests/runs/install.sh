#!/bin/sh
# install.sh BUILD SOURCE CC: a program written against the installed tree compiles, links both ways
# and runs; the manual is one. 77 = skipped: a sanitizer's run time is not part of what is installed.
set -eu
build=$1 source=$2 cc=$3
grep -q '^OUTGROW_SANITIZE:STRING=$' "$build/CMakeCache.txt" || exit 77

root=$(mktemp -d "${TMPDIR:-/tmp}/og-install-XXXXXX")
trap 'rm -rf "$root"' EXIT
fail() {
    echo "install: $*" >&2
    exit 1
}

cmake --install "$build" --prefix "$root/first" >/dev/null
mv "$root/first" "$root/moved" # a tree may be moved
prefix=$root/moved
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name outgrow.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir outgrow)

# words of flags, on purpose
# shellcheck disable=SC2046
$cc -Wall -Wextra -Werror "$source/examples/train.c" $(pkg-config --cflags --libs outgrow) -o "$root/shared"
# shellcheck disable=SC2046
$cc "$source/examples/train.c" $(pkg-config --cflags outgrow) "$libdir/liboutgrow.a" \
    $(pkg-config --static --libs outgrow | sed 's/-loutgrow//') -o "$root/static"
LD_LIBRARY_PATH=$libdir
export LD_LIBRARY_PATH
readelf -d "$root/shared" | grep -q 'liboutgrow.so.0' || fail "no soname"
readelf -d "$root/static" | grep -q 'liboutgrow' && fail "not linked statically"

# So does each example, and it links.
for example in "$source"/examples/*.c; do
    # shellcheck disable=SC2046
    $cc -Wall -Wextra -Werror "$example" $(pkg-config --cflags --libs outgrow) -o "$root/example"
done

# Both reach the library: it names what is not there.
for how in shared static; do
    if "$root/$how" "$root/nowhere" 2>"$root/message"; then fail "$how: trained on nothing"; fi
    grep -q "^outgrow: .*nowhere" "$root/message" || fail "$how: $(cat "$root/message")"
done

# Only og_ names leave the shared library.
odd=$(nm -D --defined-only "$libdir/liboutgrow.so" | awk '$2 ~ /[TDBR]/ {print $3}' | grep -v '^og_[a-z]' || true)
[ -z "$odd" ] || fail "exported: $odd"

"$prefix/bin/outgrow" --version | grep -q "^outgrow [0-9]" || fail "no version"
grep -q '^.TH OUTGROW 1' "$prefix"/share/man/man1/outgrow.1 || fail "no manual"
[ -s "$prefix/share/bash-completion/completions/outgrow" ] || fail "no completion for bash"
[ -s "$prefix/share/zsh/site-functions/_outgrow" ] || fail "no completion for zsh"
[ -s "$prefix/share/fish/vendor_completions.d/outgrow.fish" ] || fail "no completion for fish"
