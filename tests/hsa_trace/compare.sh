#!/bin/sh
# Runs a program on a virtual GPU without and with the recorder: output and exit status must be the same, and
# the trace must have what it is told to.
#
#   compare.sh BUILD MODEL OPTIONS EXPECTATIONS PROGRAM [ARGUMENT...]
#
#   OPTIONS       what to record, as WAVETAP_OPTIONS takes it; "" for the default
#   EXPECTATIONS  "name=number" or "name=other" for lines of hsa_trace_summary; "kernels" is what the program
#                 printed. "-": only compare
set -u
build=$1 model=$2 options=$3 expectations=$4
shift 4

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/session"

# Addresses and times differ from run to run.
plain() { sed -E 's/0x[0-9a-f]+/0x/g; s/[0-9]+\.[0-9]+/REAL/g; s/(REAL|[0-9]+) (ns|us|ms|s)\b/TIME/g'; }

"$build/bin/wavetap" run --gpu "$model" --no-trace -- "$@" > "$folder/bare" 2> "$folder/bare.err"
echo "exit status $?" >> "$folder/bare"

export AGENT="$build/lib/libwavetap.so" SESSION="$folder/session" OPTIONS="$options"
# Behind the others: a sanitizer's runtime wants to be first, and so does the virtual GPU's library among ROCr's tools.
"$build/bin/wavetap" run --gpu "$model" --no-trace -- sh -c '
  LD_PRELOAD=$LD_PRELOAD:$AGENT HSA_TOOLS_LIB="$HSA_TOOLS_LIB $AGENT" WAVETAP_SESSION=$SESSION WAVETAP_OPTIONS=$OPTIONS exec "$@"
  ' sh "$@" > "$folder/recorded" 2> "$folder/recorded.err"
echo "exit status $?" >> "$folder/recorded"

plain < "$folder/bare" > "$folder/bare.plain"
plain < "$folder/recorded" > "$folder/recorded.plain"
if ! diff -u "$folder/bare.plain" "$folder/recorded.plain"; then
  cat "$folder/recorded.err"
  echo "FAIL: the program behaves otherwise when it is recorded"
  exit 1
fi
if grep -q '^FAIL' "$folder/bare"; then
  cat "$folder/bare"
  exit 1
fi

"$build/bin/hsa_trace_summary" "$folder/session" > "$folder/summary" || exit 1
sed -n 's/^kernels /kernels /p' "$folder/recorded" >> "$folder/summary"
cat "$folder/summary"
[ "$expectations" = - ] && exit 0

value() { case $1 in [0-9]*) echo "$1" ;; *) sed -n "s/^$1 //p" "$folder/summary" ;; esac; }
status=0
for expectation in $expectations; do
  left=$(value "${expectation%%=*}")
  right=$(value "${expectation#*=}")
  if [ -z "$left" ] || [ "$left" != "$right" ]; then
    echo "FAIL: $expectation: $left is not $right"
    status=1
  fi
done
exit $status
