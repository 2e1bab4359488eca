#!/bin/sh
# deb.sh BUILD SOURCE: the package holds the command that runs, its manual and completion, and says
# what it needs; made twice it is the same; lintian, where it is, has nothing to say. 77 = skipped:
# no Debian, or a sanitizer's run time.
set -eu
build=$1 source=$2
command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || exit 77
grep -q '^OUTGROW_SANITIZE:STRING=$' "$build/CMakeCache.txt" || exit 77
root=$(mktemp -d "${TMPDIR:-/tmp}/og-deb-XXXXXX")
trap 'rm -rf "$root"' EXIT
fail() {
    echo "deb: $*" >&2
    exit 1
}
mkdir "$root/a" "$root/b"
a=$("$source/tools/deb" "$build" "$root/a")
b=$("$source/tools/deb" "$build" "$root/b")
cmp "$a" "$b" || fail "made twice it differs"
dpkg-deb -x "$a" "$root/tree"
"$root/tree/usr/bin/outgrow" --version | grep -q '^outgrow [0-9]' || fail "no version"
zcat "$root/tree/usr/share/man/man1/outgrow.1.gz" | grep -q '^.TH OUTGROW 1' || fail "no manual"
[ -s "$root/tree/usr/share/bash-completion/completions/outgrow" ] || fail "no completion"
grep -q '^License: MIT' "$root/tree/usr/share/doc/outgrow/copyright" || fail "no licence"
dpkg-deb -f "$a" Depends | grep -q liburing2 || fail "does not say what it needs"
dpkg-deb -f "$a" Depends | grep -q openmpi && fail "needs MPI"
if [ -e "$build/liboutgrow_mpi.so" ]; then
    dpkg-deb -f "$a" Recommends | grep -q openmpi || fail "does not say what its plugin needs"
    "$root/tree/usr/bin/outgrow" doctor | grep -q 'mpirun -n N' || fail "finds no plugin for MPI"
fi
mkdir "$root/bin" "$root/none"
for does in "echo no such library >&2; exit 2" "echo shlibs:Depends="; do
    printf '#!/bin/sh\n%s\n' "$does" >"$root/bin/dpkg-shlibdeps"
    chmod +x "$root/bin/dpkg-shlibdeps"
    if PATH=$root/bin:$PATH "$source/tools/deb" "$build" "$root/none" >"$root/said" 2>&1; then
        fail "makes a package that does not say what it needs"
    fi
    grep -q '^deb: ' "$root/said" || fail "does not say why it makes none"
    [ -z "$(ls "$root/none")" ] || fail "leaves a package that it refused"
done
if command -v lintian >/dev/null; then
    said=$(lintian --allow-root "$a" 2>&1) || true
    [ -z "$said" ] || fail "lintian: $said"
fi
