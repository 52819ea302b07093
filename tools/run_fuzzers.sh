#!/bin/sh
# run_fuzzers.sh BUILD SECONDS: every fuzzer of the build for SECONDS each. Stops at the first finding and
# leaves its input beside the corpus.
set -eu
build=$1
seconds=$2
found=0
for fuzzer in "$build"/bin/*_fuzz; do
  [ -x "$fuzzer" ] || continue
  found=1
  name=$(basename "$fuzzer")
  corpus=$build/corpus/$name
  mkdir -p "$corpus"
  seeds=$(dirname "$0")/../tests/corpus/$name
  [ -d "$seeds" ] || seeds=""
  echo "== $name, $seconds s"
  # shellcheck disable=SC2086  # seeds may be empty
  "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$corpus/" -verbosity=0 "$corpus" $seeds
done
[ "$found" = 1 ] || { echo "wavetap: error: $build: no fuzzers; configure with --preset fuzz" >&2; exit 1; }
