#!/bin/sh
# emulate.sh -- runs a program for aarch64 on this processor: emulate.sh PROGRAM ARG...
#
# On one core.  A store and a later load, both sequentially consistent, are STLR and LDAR,
# which a processor keeps in order; qemu 7.2 on x86-64 does not, and a team of threads
# (base/threads.h), of which one looks whether the other sleeps, then waits for ever.
# Threads that share a core see each other's stores in order.
set -eu
cores=$(taskset -cp $$ | awk '{
    n = split($NF, part, ",")
    for (i = 1; i <= n; i++) {
        m = split(part[i], end, "-")
        for (c = end[1]; c <= end[m]; c++) print c
    } }')
at=$(($$ % $(echo "$cores" | wc -l) + 1))
core=$(echo "$cores" | sed -n "${at}p")
exec taskset -c "$core" qemu-aarch64 "$@"
