#!/usr/bin/env bash
# Installs the Debian packages of `make package` into a bare Debian that has nothing else, tries them there as a user
# would, and removes them again.
#
#   run.sh [BUILD]       BUILD/packages/*.deb; the root is made once, in BUILD/package-root
#
# Exit status 0: all is well; 1: something is not; 77 (skipped) with a reason: no root, no debootstrap, no mirror.
set -euo pipefail

build=$(realpath "${1:-build}")
root=$build/package-root
skip() { echo "skip: $*" >&2; exit 77; }
fail() { echo "FAIL: $*" >&2; exit 1; }

packages=("$build"/packages/*.deb)
[ -e "${packages[0]}" ] || fail "$build/packages: no packages; run make package"

# The packages themselves, where lintian can be asked; what it may not complain of is in packaging/debian.
if command -v lintian > /dev/null; then
  lintian --allow-root --fail-on error,warning "${packages[@]}" || fail "lintian has complaints"
  echo "lintian: no complaints"
fi

[ "$(id -u)" = 0 ] || skip "needs root for chroot; run as root"
command -v debootstrap > /dev/null || skip "needs debootstrap; install it (package debootstrap)"
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
[ -n "$mirror" ] || skip "this machine's apt names no Debian mirror"

if [ ! -e "$root/.complete" ]; then
  rm -rf "$root"
  debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" "$mirror" > "$build/package-root.log" 2>&1 ||
    skip "debootstrap failed; see $build/package-root.log"
  touch "$root/.complete"
fi

inside() { chroot "$root" env -i PATH=/usr/bin:/usr/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
cleanup() { umount "$root/proc" 2> /dev/null || true; }
trap cleanup EXIT
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"

before=$(cd "$root" && find etc usr opt -xdev | sort)
rm -rf "$root/packages" && mkdir "$root/packages"
cp "${packages[@]}" "$root/packages"
log=$build/package-install.log
inside apt-get update > "$log" 2>&1 || skip "apt-get update failed in the root; see $log"
inside sh -c 'apt-get install -y --no-install-recommends /packages/*.deb rocminfo' >> "$log" 2>&1 ||
  fail "the packages cannot be installed; see $log"

try() {  # WHAT COMMAND…: the command must succeed
  local what=$1
  shift
  inside "$@" > "$build/package-try.log" 2>&1 || { cat "$build/package-try.log"; fail "$what"; }
  echo "ok: $what"
}
try "wavetap says its version" wavetap --version
try "it finds its models" sh -c 'wavetap gpu list | grep -q rx6800xt'
try "it explains itself" wavetap help run
try "the doctor looks at the machine" sh -c 'wavetap doctor --json > /tmp/doctor.json; test $? -le 2 && test -s /tmp/doctor.json'
try "AMD's rocminfo finds a virtual GPU, and is recorded" \
  sh -c 'cd /tmp && wavetap run --gpu rx6800xt --hsa -o t.rpd -- rocminfo | grep -q gfx1030 && wavetap check t.rpd && wavetap report t.rpd'
try "Python reads the recording" python3 -c 'import wavetap; assert len(wavetap.open("/tmp/t.rpd").calls) > 0'
try "RPD's Python interface is there" python3 -c 'from rpdTracerControl import rpdTracerControl; rpdTracerControl.setFilename("/tmp/p.rpd"); p = rpdTracerControl(); p.start(); p.rangePush("d", "name", "a"); p.rangePop(); p.stop(); p.flush()'
try "and it recorded" sh -c 'wavetap query /tmp/p.rpd "select count(*) from rocpd_api" --format csv | grep -qx 1'
try "a manual page for each command" sh -c 'cd /usr/share/man/man1 && for c in run report gpu-exec doctor; do zcat wavetap-$c.1.gz | grep -q "^.SH OPTIONS" || exit 1; done'
try "bash completes" bash -c '. /usr/share/bash-completion/completions/wavetap; COMP_WORDS=(wavetap repo); COMP_CWORD=1; _wavetap; [ "${COMPREPLY[*]}" = report ]'
try "the documents are there" test -s /usr/share/doc/wavetap/docs/recording.md

inside apt-get purge -y wavetap python3-wavetap wavetap-doc >> "$log" 2>&1 || fail "the packages cannot be removed; see $log"
left=$(comm -13 <(echo "$before") <(cd "$root" && find etc usr opt -xdev | sort) | grep -i wavetap || true)
[ -z "$left" ] || fail "left behind: $left"
echo "ok: nothing of wavetap is left when they are removed"
