#!/usr/bin/env bash
# Makes a root directory that holds another Debian suite's ROCm, so that the virtual GPU can be run under
# AMD's newer user space without installing it here.
#
#   make_root.sh SUITE DIR       SUITE: trixie, sid or experimental
#
# No debootstrap: packages are resolved by apt under a private configuration that borrows the mirror and
# the keyring of this machine's own apt, downloaded, and unpacked with dpkg-deb. Nothing of the host is
# changed. Exit 0 when DIR is complete, 77 (skip) with a reason when it cannot be made.
set -euo pipefail

suite=${1:?usage: make_root.sh SUITE DIR}
dir=${2:?usage: make_root.sh SUITE DIR}

skip() { echo "skip: $suite: $*" >&2; exit 77; }

[ "$(id -u)" = 0 ] || skip "needs root for chroot; run as root"
[ -e "$dir/.complete" ] && exit 0

case $suite in
  trixie) suites=trixie hip=libamdhip64-5 ;;
  sid) suites=sid hip=libamdhip64-6 ;;
  experimental) suites="sid experimental" hip=libamdhip64-7 ;;
  *) echo "make_root.sh: $suite: unknown suite; use trixie, sid or experimental" >&2; exit 1 ;;
esac

# The mirror is whatever this machine's apt already uses for Debian's main archive.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
[ -n "$mirror" ] || skip "this machine's apt names no Debian mirror"

apt=$dir.apt
rm -rf "$dir" "$apt"
mkdir -p "$dir" "$apt"/{state/lists/partial,cache/archives/partial,etc/preferences.d,etc/trusted.gpg.d}
touch "$apt/state/status"
for s in $suites; do
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $s main"
done > "$apt/etc/sources.list"

export APT_CONFIG=$apt/apt.conf
cat > "$APT_CONFIG" <<CONF
Dir::State "$apt/state";
Dir::State::status "$apt/state/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "$apt/etc/preferences.d";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
CONF

apt-get update -q > "$apt/update.log" 2>&1 || skip "apt cannot read the suite's index (see $apt/update.log)"

packages="base-files bash coreutils grep sed procps libc6 libc-bin libstdc++6 g++ $hip libamdhip64-dev libhsa-runtime64-1 libhsa-runtime-dev hipcc rocminfo rocm-smi python3"
options=(--download-only -y -q)
[ "$suite" = experimental ] && options+=(-t experimental)
apt-get "${options[@]}" install $packages > "$apt/install.log" 2>&1 ||
  skip "apt cannot resolve the packages (see $apt/install.log)"

# usr-merge first, so that old-style paths in packages land in the right place.
mkdir -p "$dir/usr/lib" "$dir/usr/bin" "$dir/usr/sbin" "$dir"/{proc,sys,dev,tmp}
for link in lib bin sbin; do ln -sfn "usr/$link" "$dir/$link"; done
chmod 1777 "$dir/tmp"
for deb in "$apt"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar -C "$dir" --keep-directory-symlink -xf - ||
    skip "unpacking $(basename "$deb") failed"
done
chroot "$dir" /sbin/ldconfig || skip "ldconfig failed in the new root"
# Maintainer scripts did not run; what they would have made and programs look for.
[ -e "$dir/usr/bin/sh" ] || ln -s bash "$dir/usr/bin/sh"
[ -e "$dir/usr/bin/python3" ] || ln -s "$(basename "$(ls "$dir"/usr/bin/python3.* | head -n 1)")" "$dir/usr/bin/python3"

# Which versions: the archives' names say so, with `%3a` for the colon of an epoch.
(cd "$apt/cache/archives" && ls -- *.deb) | sed 's/_[a-z0-9]*\.deb$//; s/%3a/:/; s/_/ /' > "$dir/.packages"
rm -rf "$apt"
touch "$dir/.complete"
