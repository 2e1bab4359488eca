#!/bin/sh
# no_fused.sh LIBRARY: our kernels have no instruction that fuses a product with a sum. Which products a compiler would fuse
# depends on how it vectorises, and so on the instruction set: without, each kernel rounds alike on every x86-64.
set -eu
command -v objdump >/dev/null || { echo "skipped: there is no objdump"; exit 77; }
found=$(objdump -d --no-show-raw-insn "$1" | grep -cE '\sv?fn?m(add|sub)[0-9a-z]*[sp]s\s' || true)
[ "$found" = 0 ] || { echo "$1: $found fused instructions; is -ffp-contract=off gone?" >&2; exit 1; }
wide=$(objdump -d --no-show-raw-insn "$1" | grep -c '%zmm' || true)
[ "$(uname -m)" != x86_64 ] || [ "$wide" -gt 0 ] || { echo "$1: no clone for 512 bits was looked at" >&2; exit 1; }
