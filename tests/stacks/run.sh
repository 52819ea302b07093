#!/usr/bin/env bash
# Runs the virtual GPU under other generations of AMD's user space: the same library, not rebuilt, below
# the ROCm of this machine and of newer Debian suites, in every mode of the driver.
#
#   run.sh [DIR] [--quick] [--suites "NAME..."] [--modes "NAME..."] [--jobs N]
#
#   DIR      the build folder: bin/wavetap, lib/libwavetap_gpu.so, lib/libwavetap.so (default: build)
#   suites   host (this machine's ROCm), trixie, sid, experimental
#   modes    default; small-bar (the CPU reaches no VRAM); svm (the shared-virtual-memory ioctl works);
#            low-va (reserved ranges below 2^47, as on x86-64); traced (HIP programs with the recorder:
#            exactly one dispatch for each launch); capture (dispatches captured there and replayed on the engine and through
#            that ROCm, 200 processes; captures of the suites before, which are kept in DIR/stacks/captures, and those
#            below the folder that $WT_FOLDER names, made elsewhere); pass (the compiler pass, compiled there for every LLVM
#            of the suite, against what the virtual GPU sees); swap (whole code objects loaded in the place of others)
#
# Roots are made once by tests/roots/make_root.sh, below $WAVETAP_STACKS (default: DIR/stacks), with the test programs
# compiled by each stack's own compilers. Ends with a table and the names of failed tests, whose output is
# in DIR/stacks/logs. Exit status 0: all passed; 1: something failed; 77: nothing could be run.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SOURCE=$(cd "$here/../.." && pwd)
BUILD=$SOURCE/build
QUICK=no
JOBS=$(nproc)
suites="host trixie sid experimental"
modes="default small-bar svm low-va traced capture pass swap"
# The versions of LLVM that a suite has and this machine does not test already. 20 has left every suite: src/pass takes the same way for
# it as for 21 (test pass.versions).
declare -A llvm_versions=([trixie]="17 18" [sid]="21 22")

usage() { sed -n '5,6p' "${BASH_SOURCE[0]}" | sed 's/^# *//' >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    --suites) suites=${2:?}; shift ;;
    --modes) modes=${2:?}; shift ;;
    --jobs) JOBS=${2:?}; shift ;;
    --quick) QUICK=yes ;;
    -*) usage ;;
    *) BUILD=$1 ;;
  esac
  shift
done

BUILD=$(realpath "$BUILD")
[ -x "$BUILD/bin/wavetap" ] || { echo "run.sh: $BUILD: no bin/wavetap there; build first" >&2; exit 1; }
stacks=$(realpath -m "${WAVETAP_STACKS:-$BUILD/stacks}")
PROGRAMS=$stacks/programs
LOGS=$stacks/logs
RESULTS=$stacks/results
rm -rf "$LOGS" "$RESULTS"
mkdir -p "$PROGRAMS" "$LOGS"
touch "$RESULTS"
export SOURCE BUILD PROGRAMS LOGS RESULTS JOBS QUICK WT_CAPTURES=$stacks/captures

[[ " $modes " == *" pass "* ]] && echo "skip: LLVM 20: no suite of Debian has it; see docs/probe-pass.md"
ran=
for suite in $suites; do
  if [ "$suite" = host ]; then
    root=/
    command -v hipcc > /dev/null || { echo "skip: host: no hipcc here"; continue; }
  else
    root=$stacks/$suite
    packages=()
    if [[ " $modes " == *" pass "* ]]; then
      for version in ${llvm_versions[$suite]:-}; do packages+=("clang-$version" "lld-$version" "llvm-$version-dev"); done
    fi
    # make_root.sh says why when it gives up.
    "$here/../roots/make_root.sh" "$suite" "$root" "${packages[@]}" || { [ $? = 77 ] && continue; exit 1; }
  fi
  echo "$suite: $modes"
  if unshare --mount true 2> /dev/null; then
    unshare --mount bash "$here/suite.sh" "$suite" "$root" $modes
  elif [ "$suite" = host ]; then
    bash "$here/suite.sh" "$suite" "$root" $modes
  else
    echo "skip: $suite: needs a mount namespace; run as root"
    continue
  fi
  ran=yes
done
rm -rf "$RESULTS.tmp"
[ -n "$ran" ] || exit 77

# One line per suite and mode: passed of run, per group.
echo
awk -F'\t' -v suites="$suites" -v modes="build $modes" '
  function cell(key) { return (key in total) ? passed[key] + 0 "/" total[key] : "-" }
  {
    row = $1 SUBSEP $2
    rows[row] = 1
    if ($5 == "skip") { skipped[row]++; next }
    total[row SUBSEP $3]++
    if ($5 == "pass") passed[row SUBSEP $3]++; else failed[row]++
  }
  END {
    printf "%-14s%-12s%10s%10s%10s%10s%10s%10s%10s\n", "suite", "mode", "tools", "hsa", "hip", "capture", "pass", "skipped", "failed"
    n = split(suites, s, " "); m = split(modes, o, " ")
    for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) {
      row = s[i] SUBSEP o[j]
      if (!(row in rows)) continue
      printf "%-14s%-12s%10s%10s%10s%10s%10s%10d%10d\n", s[i], o[j], cell(row SUBSEP "tools"), cell(row SUBSEP "hsa"),
        cell(row SUBSEP "hip"), cell(row SUBSEP "capture"), cell(row SUBSEP "pass"), skipped[row], failed[row]
    }
  }' "$RESULTS"

if grep -q $'\tfail$' "$RESULTS"; then
  echo
  echo "failed (output in $LOGS):"
  awk -F'\t' '$5 == "fail" { print "  " $1 "." $2 "." ($2 == "build" ? "" : $3 ".") $4 ".log" }' "$RESULTS" | sort
  exit 1
fi
