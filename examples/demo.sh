#!/bin/sh
# demo.sh BUILD: a look at the virtual GPU, in a minute.
set -eu
build=${1:-build}
wavetap=$build/bin/wavetap
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); else bold="" plain=""; fi
title() { printf '\n%s%s%s\n\n' "$bold" "$1" "$plain"; }

title "The virtual GPUs wavetap comes with"
echo "\$ wavetap gpu list"
"$wavetap" gpu list

title "AMD's own rocminfo, unmodified, sees a Radeon RX 6800 XT that is not there"
echo "\$ wavetap run --no-trace --gpu rx6800xt -- rocminfo"
"$wavetap" run --no-trace --gpu rx6800xt -- rocminfo |
  awk '/^Agent 2/ { on = 1 }
       on && /^  (Name|Marketing Name|Vendor Name|Device Type|Compute Unit|SIMDs per CU|Wavefront Size|Workgroup Max Size|Max Clock Freq)/
       on && /Pool 1/ { pool = 1 }
       pool && /Size:/ { print; exit }'

title "AMD's HIP runtime, unmodified, runs a kernel on it: real gfx1030 machine code, interpreted"
columns=78
if [ -t 1 ] && command -v tput >/dev/null 2>&1; then columns=$(tput cols 2>/dev/null || echo 78); fi
[ "$columns" -le 110 ] || columns=110
echo "\$ wavetap run --no-trace --gpu rx6800xt -- $build/bin/hip/example_mandelbrot"
"$wavetap" run --no-trace --gpu rx6800xt -- "$build/bin/hip/example_mandelbrot" "$columns"

title "Another program on a data-centre GPU: other instruction set, waves of 64. Recorded, and the recording read"
echo "\$ wavetap run --gpu mi210 -o $build/demo.rpd -- $build/bin/hip/example_saxpy"
"$wavetap" run --gpu mi210 -o "$build/demo.rpd" -- "$build/bin/hip/example_saxpy"
echo "\$ wavetap report $build/demo.rpd --top 3"
"$wavetap" report "$build/demo.rpd" --top 3

title "What else: wavetap --help, README.md, make test"
