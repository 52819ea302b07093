#!/usr/bin/env bash
# Makes, or extends, a root directory that holds packages of another Debian suite, so that programs of AMD's
# newer user space can be run on the virtual GPU without installing them here.
#
#   make_root.sh SUITE DIR [PACKAGE...]      SUITE: trixie, sid or experimental
#
# Every root holds the suite's HIP runtime, compiler and tools (the base set below); PACKAGEs come on top. A
# root that has them all is left as it is; one that lacks some gets those and what they need.
#
# No debootstrap: packages are resolved by apt under a private configuration that borrows the mirror and
# the keyring of this machine's own apt, downloaded, and unpacked with dpkg-deb. Nothing of the host is
# changed. Exit 0 when DIR holds everything, 77 (skip) with a reason when it cannot be made.
#
# What a root remembers: .packages (name and version of each package), .status (apt's view of them).
set -euo pipefail

suite=${1:?usage: make_root.sh SUITE DIR [PACKAGE...]}
dir=${2:?usage: make_root.sh SUITE DIR [PACKAGE...]}
shift 2

skip() { echo "skip: $suite: $*" >&2; exit 77; }

case $suite in
  trixie) suites=trixie hip=libamdhip64-5 ;;
  sid) suites=sid hip=libamdhip64-6 ;;
  experimental) suites="sid experimental" hip=libamdhip64-7 ;;
  *) echo "make_root.sh: $suite: unknown suite; use trixie, sid or experimental" >&2; exit 1 ;;
esac

base="base-files bash coreutils diffutils grep sed procps libc6 libc-bin libstdc++6 g++ $hip libamdhip64-dev
  libhsa-runtime64-1 libhsa-runtime-dev hipcc rocminfo rocm-smi python3"
missing=
for package in $base "$@"; do
  grep -qs "^$package " "$dir/.packages" || missing+=" $package"
done
[ -n "$missing" ] || exit 0
[ "$(id -u)" = 0 ] || skip "needs root for chroot; run as root"

# The mirror is whatever this machine's apt already uses for Debian's main archive.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
[ -n "$mirror" ] || skip "this machine's apt names no Debian mirror"

apt=$dir.apt
mkdir -p "$dir" "$apt"/{state/lists/partial,cache/archives/partial,etc/preferences.d,etc/trusted.gpg.d}
touch "$dir/.status" "$dir/.packages"
for s in $suites; do
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $s main"
done > "$apt/etc/sources.list"

export APT_CONFIG=$apt/apt.conf
cat > "$APT_CONFIG" <<CONF
Dir::State "$apt/state";
Dir::State::status "$dir/.status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "$apt/etc/preferences.d";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
CONF

apt-get update -q > "$apt/update.log" 2>&1 || skip "apt cannot read the suite's index (see $apt/update.log)"

options=(--download-only -y -q)
[ "$suite" = experimental ] && options+=(-t experimental)
apt-get "${options[@]}" install $missing > "$apt/install.log" 2>&1 ||
  skip "apt cannot get$missing (see $apt/install.log)"

# usr-merge first, so that old-style paths in packages land in the right place.
mkdir -p "$dir/usr/lib" "$dir/usr/bin" "$dir/usr/sbin" "$dir"/{proc,sys,dev,tmp,etc/ld.so.conf.d}
for link in lib bin sbin; do ln -sfn "usr/$link" "$dir/$link"; done
chmod 1777 "$dir/tmp"
# An archive is removed once it is unpacked: large ones would fill the disk twice. One that is newer than what
# the root has takes the older one's place in the books.
for deb in "$apt"/cache/archives/*.deb; do
  [ -e "$deb" ] || break
  dpkg-deb --fsys-tarfile "$deb" | tar -C "$dir" --keep-directory-symlink -xf - ||
    skip "unpacking $(basename "$deb") failed"
  name=$(dpkg-deb --field "$deb" Package)
  sed -i "/^Package: $name\$/,/^\$/d" "$dir/.status"
  { dpkg-deb --field "$deb"; printf 'Status: install ok installed\n\n'; } >> "$dir/.status"
  sed -i "/^$name /d" "$dir/.packages"
  echo "$name $(dpkg-deb --field "$deb" Version)" >> "$dir/.packages"
  rm "$deb"
done
sort -o "$dir/.packages" "$dir/.packages"

# Maintainer scripts did not run; what they would have made and programs look for.
[ -e "$dir/usr/bin/sh" ] || ln -s bash "$dir/usr/bin/sh"
[ -e "$dir/usr/bin/python3" ] || ln -s "$(basename "$(ls "$dir"/usr/bin/python3.* | head -n 1)")" "$dir/usr/bin/python3"
for library in "$dir"/usr/lib/*/{blas,lapack,openmpi/lib}; do
  [ -d "$library" ] && echo "${library#"$dir"}"
done > "$dir/etc/ld.so.conf.d/alternatives.conf"
# OpenBLAS beside the reference BLAS: only its own name, so that tests go on to judge by the reference.
for library in "$dir"/usr/lib/*/openblas-*/libopenblas.so.0; do
  folder=$(dirname "$library")
  [ -e "$library" ] && ln -sfn "$(basename "$folder")/libopenblas.so.0" "$(dirname "$folder")/libopenblas.so.0"
done
chroot "$dir" /sbin/ldconfig || skip "ldconfig failed in the new root"
rm -rf "$apt"
