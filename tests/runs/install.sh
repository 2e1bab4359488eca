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
readelf -d "$root/shared" | grep -q 'liboutgrow.so.1' || fail "no soname"
readelf -d "$root/static" | grep -q 'liboutgrow' && fail "not linked statically"

# So does each example, and it links.
for example in "$source"/examples/*.c; do
    # shellcheck disable=SC2046
    $cc -Wall -Wextra -Werror "$example" $(pkg-config --cflags --libs outgrow) -o "$root/example"
done

# A program as the documents have it runs, by each standard and with no warning; one of before says
# what to do instead, for each name that is gone.
for standard in c11 gnu17; do
    # shellcheck disable=SC2046
    $cc -std=$standard -pedantic -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror "$source/tests/runs/api_new.c" \
        $(pkg-config --cflags --libs outgrow) -o "$root/api"
done
[ "$("$root/api" "$root/graph")" = "epochs 2, batches, given, progress" ] || fail "api_new does not run"
if command -v c++ >/dev/null; then
    echo '#include <outgrow/outgrow.h>' >"$root/header.cc"
    # shellcheck disable=SC2046
    c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags outgrow) "$root/header.cc"
fi
# shellcheck disable=SC2046
if $cc -fsyntax-only $(pkg-config --cflags outgrow) "$source/tests/runs/api_old.c" 2>"$root/message"; then
    fail "api_old compiles"
fi
for words in 'og_options_new(&opt, &err) makes one' 'og_options_free(opt) gives it back' 'og_import_new(&opt, &err)' \
    'og_generate_new(&g, &err)' 'og_option(i) is number i' 'og_option_alias(i) is' 'take an option.s text by its name' \
    'NULL where its figures are not wanted' 'NULL without a device' 'a third argument, hint'; do
    grep -q "$words" "$root/message" || fail "api_old: the compiler does not say: $words"
done

# Both reach the library: it names what is not there.
for how in shared static; do
    if "$root/$how" "$root/nowhere" 2>"$root/message"; then fail "$how: trained on nothing"; fi
    grep -q "^outgrow: .*nowhere" "$root/message" || fail "$how: $(cat "$root/message")"
done

# Only og_ names leave the shared library.
odd=$(nm -D --defined-only "$libdir/liboutgrow.so" | awk '$2 ~ /[TDBR]/ {print $3}' | grep -v '^og_[a-z]' || true)
[ -z "$odd" ] || fail "exported: $odd"
bare=$(nm -D --defined-only "$libdir/liboutgrow.so" | grep ' T og_' | grep -v '@@OUTGROW_1$' || true)
[ -z "$bare" ] || fail "without a version: $bare"

"$prefix/bin/outgrow" --version | grep -q "^outgrow [0-9]" || fail "no version"
grep -q '^.TH OUTGROW 1' "$prefix"/share/man/man1/outgrow.1 || fail "no manual"
[ -s "$prefix/share/bash-completion/completions/outgrow" ] || fail "no completion for bash"
[ -s "$prefix/share/zsh/site-functions/_outgrow" ] || fail "no completion for zsh"
[ -s "$prefix/share/fish/vendor_completions.d/outgrow.fish" ] || fail "no completion for fish"
