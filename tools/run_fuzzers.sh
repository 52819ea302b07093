#!/bin/sh
# run_fuzzers.sh BUILD SECONDS [JOBS]: every fuzzer of the build for SECONDS each, JOBS at a time. All are run, whatever
# one finds; the input of a finding stays beside the corpus, and the status is then 1.
set -eu
build=$1
seconds=$2
jobs=${3:-1}
here=$(dirname "$0")

fuzzers=$(find "$build/bin" -name '*_fuzz' -type f -perm -u+x 2>/dev/null | sort)
[ -n "$fuzzers" ] || { echo "wavetap: error: $build: no fuzzers; configure with --preset fuzz" >&2; exit 1; }

# One fuzzer; what it says comes at its end, in one piece.
run_one='
fuzzer=$1 build=$2 seconds=$3 here=$4
name=$(basename "$fuzzer")
corpus=$build/corpus/$name
log=$build/corpus/$name.log
mkdir -p "$corpus"
seeds=$here/../tests/corpus/$name
[ -d "$seeds" ] || seeds=""
status=0
"$fuzzer" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$corpus/" \
  -verbosity=0 "$corpus" $seeds >"$log" 2>&1 || status=$?
if [ $status = 0 ]; then
  echo "== $name: $(sed -n "s/^stat::number_of_executed_units: *//p" "$log") inputs, no finding"
else
  echo "== $name: a finding (status $status)"
  cat "$log"
  exit 1
fi
'
echo "$fuzzers" | xargs -P "$jobs" -I '{}' sh -c "$run_one" run_one '{}' "$build" "$seconds" "$here" || exit 1
