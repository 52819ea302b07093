#!/bin/sh
# Installs what is missing of the groups named on the command line (tools/packages.txt).
# Says nothing and takes milliseconds when nothing is missing.
set -eu

list=$(dirname "$0")/packages.txt
wanted=$(awk -v groups=" $* " '
  /^\[/ { group = substr($1, 2, length($1) - 2); next }
  /^#/ || NF == 0 { next }
  index(groups, " " group " ") { if ($2 != "?") kind[$1] = "required"; else if (!($1 in kind)) kind[$1] = "optional"
                                  if (!seen[$1]++) order[++count] = $1 }
  END { for (i = 1; i <= count; ++i) print order[i], kind[order[i]] }' "$list")

if ! command -v dpkg-query >/dev/null; then
  echo "wavetap: this is not a Debian system; make sure these are installed:" >&2
  echo "$wanted" | awk '{ printf "  %s (%s)\n", $1, $2 }' >&2
  exit 0
fi

# shellcheck disable=SC2046  # one name per word
installed=" $(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $(echo "$wanted" | cut -d' ' -f1) 2>/dev/null |
             awk '$2 == "installed" { printf "%s ", $1 }')"

required=""
optional=""
while read -r package kind; do
  [ -n "$package" ] || continue
  case "$installed" in *" $package "*) continue ;; esac
  if [ "$kind" = optional ]; then optional="$optional $package"; else required="$required $package"; fi
done <<LIST
$wanted
LIST
[ -n "$required$optional" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=""
elif command -v sudo >/dev/null; then
  as_root="sudo"
else
  if [ -n "$required" ]; then
    echo "wavetap: error: packages are missing and there is neither root nor sudo; ask an administrator to run:" >&2
    echo "  apt-get install$required" >&2
    exit 1
  fi
  exit 0
fi

# Package lists may never have been fetched (fresh containers) or be old: refresh only when needed.
install() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; }
if [ -n "$required" ]; then
  echo "wavetap: installing:$required"
  # shellcheck disable=SC2086  # a list on purpose
  if ! install $required; then
    $as_root apt-get update
    # shellcheck disable=SC2086
    if ! install $required; then
      echo "wavetap: error: could not install:$required; see the messages of apt-get above" >&2
      exit 1
    fi
  fi
fi
for package in $optional; do
  echo "wavetap: installing: $package (optional)"
  install "$package" || echo "wavetap: $package is not available; going on without it" >&2
done
