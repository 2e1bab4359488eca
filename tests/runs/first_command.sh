#!/bin/sh
# first_command.sh SOURCE CC: in odd surroundings the first command configures, or says in one message
# what is missing and what helps. The units of a first build (tools/units) compile.
set -eu
source=$1 CC=$2
export CC
unset CMAKE_C_COMPILER_LAUNCHER PKG_CONFIG_PATH || true
root=$(mktemp -d "${TMPDIR:-/tmp}/og-first-XXXXXX")
trap 'chmod -R u+w "$root"; rm -rf "$root"' EXIT
folder="$root/a folder, für später"
mkdir "$folder"
for part in CMakeLists.txt CMakePresets.json cmake include src tools; do
    cp -r "$source/$part" "$folder"
done
cd "$folder"
fail() {
    echo "first_command: $*" >&2
    cat "$root/out" >&2
    exit 1
}
configures() { # OPTION...
    tools/configure release -DOUTGROW_TESTS=OFF "$@" >"$root/out" 2>&1 || fail "not configured: $*"
}
refuses() { # MESSAGE HINT COMMAND...
    message=$1 hint=$2
    shift 2
    if "$@" >"$root/out" 2>&1; then fail "configured: $*"; fi
    grep -q "^outgrow: .*$message" "$root/out" || fail "no message: $message"
    grep -q "^hint: $hint" "$root/out" || fail "no hint: $hint"
    [ "$(grep -c . "$root/out")" = 2 ] || fail "more than a message and a hint"
}
left_out() { # NAME
    grep -q "^outgrow: built without .*$1 (" "$root/out" || fail "$1 is not named as left out"
}

# A path with spaces and letters of a language; no home and no place for temporary files, which even root cannot make; nobody else may read.
(umask 077 && HOME=/proc/none TMPDIR=/proc/none LC_ALL=C configures)
ninja -C build/release CMakeFiles/outgrow_objects.dir/src/base/version.c.o >"$root/out" 2>&1 || fail "does not compile"

# Moved, and made for another generator.
mv "$folder" "$root/moved"
cd "$root/moved"
configures
grep -q "was configured in $folder" "$root/out" || fail "nothing said of the folder's move"
sed -i 's/^CMAKE_GENERATOR:INTERNAL=.*/CMAKE_GENERATOR:INTERNAL=Unix Makefiles/' build/release/CMakeCache.txt
configures
grep -q "was configured for Unix Makefiles" "$root/out" || fail "nothing said of the other generator"

# MPI's compiler without its headers, and with headers and no library.
printf '#!/bin/sh\necho cc -I/nonexistent/include -lmpi_of_no_system\n' >"$root/mpicc"
chmod +x "$root/mpicc"
configures "-DMPI_C_COMPILER=$root/mpicc"
left_out MPI
mkdir "$root/mpi"
echo 'int MPI_Init(int *, char ***);' >"$root/mpi/mpi.h"
printf '#!/bin/sh\necho cc -I%s/mpi -lmpi_of_no_system\n' "$root" >"$root/mpicc"
configures "-DMPI_C_COMPILER=$root/mpicc"
left_out MPI

# What is required.
mkdir "$root/pc"
printf 'Name: liburing\nDescription: of no use\nVersion: 2\nLibs: -luring_of_no_system\n' >"$root/pc/liburing.pc"
rm -r build
refuses 'liburing.pc' 'unset PKG_CONFIG_PATH$' env "PKG_CONFIG_PATH=$root/pc" tools/configure release
refuses 'oneDNN' 'apt-get install .*libdnnl-dev' tools/configure release -DDNNL_LIBRARY=/nonexistent/libdnnl.so
rm -r build
refuses 'cmocka.h' 'apt-get install .*libcmocka-dev' tools/configure release -DOUTGROW_TESTS=ON -DCMOCKA_LIBRARY=/nonexistent/libcmocka.so

# Nowhere to build.
rm -r build
touch build
refuses 'build is no folder' 'mv build' tools/configure release
rm build
if [ "$(id -u)" != 0 ]; then # who may write everywhere
    mkdir build
    chmod a-w build
    refuses 'cannot write' 'cp -r' tools/configure release
fi

# No two sources of a unit define the same name.
find "$PWD/src" -name '*.c' ! -path '*/comm/plugin/*' ! -name without_models.c | LC_ALL=C sort | xargs awk -f tools/units MOST=8 >"$root/units"
mkdir "$root/unit"
while read -r unit file; do
    echo "#include \"$file\"" >>"$root/unit/$unit.c"
done <"$root/units"
for unit in "$root"/unit/*.c; do
    $CC -std=gnu17 -D_GNU_SOURCE -DOG_LIBDIR='"lib"' -Iinclude -Isrc -w -fsyntax-only \
        -include tools/banned.h "$unit" >"$root/out" 2>&1 || fail "a unit of a first build does not compile"
done
