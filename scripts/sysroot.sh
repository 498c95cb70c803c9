#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Unpacks a Debian 12 for aarch64 with LLVM and MLIR into a folder, which the CMake
# preset aarch64 builds against (cmake/CrossAarch64.cmake), and with Python and a
# shell, by which the wheel is tested. Nothing is installed on this machine. Reaches
# apt's mirrors only, and only for what is missing.
#
#   scripts/sysroot.sh

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/setup.sh"
folder=$root/.cache/aarch64
sysroot=$folder/sysroot
logs=$root/.cache/logs
mirror=${DEBIAN_MIRROR:-http://deb.debian.org}
# Those of scripts/setup.sh that have headers and libraries, and what tests need.
packages=(llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools libc6-dev
          libstdc++-12-dev libzstd-dev zlib1g-dev python3-minimal
          libpython3.11-stdlib bash coreutils diffutils)
mkdir -p "$logs" "$folder"
exec 9>"$folder/lock"
flock 9

# The stamp says which packages the folder has, and the version of this machine's LLVM.
version=$(llvm-config-22 --version)
stamp="$version ${packages[*]}"
if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ]; then exit 0; fi

# apt with lists, settings and a store of its own, for which nothing is installed.
apt=$folder/apt
key=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,parts}
: >"$apt/status"
for suite in "debian bookworm" "debian-security bookworm-security"; do
  printf 'deb [arch=arm64 signed-by=%s] %s/%s main\n' "$key" "$mirror" "$suite"
done >"$apt/sources.list"
apt_get() {
  apt-get -q -y -o Acquire::Retries=3 -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
    -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
    -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts="$apt/parts" \
    -o APT::Sandbox::User="$(id -un)" -o APT::Keep-Downloaded-Packages=true "$@"
}

unpack() {
  rm -rf "$sysroot"
  mkdir -p "$sysroot/usr"/{bin,lib,sbin}
  local name package
  for name in bin lib sbin; do ln -s "usr/$name" "$sysroot/$name"; done
  for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" |
      tar -x --keep-directory-symlink --no-same-owner -C "$sysroot"
  done
  # Links such as libm.so begin at the root, which is another one here.
  local link
  find "$sysroot" -type l -lname '/*' | while read -r link; do
    ln -sfnr "$sysroot$(readlink "$link")" "$link"
  done
}

rm -f "$folder/stamp" "$apt"/cache/archives/*.deb
step "Debian's lists for aarch64" logged "$logs/sysroot-update.log" apt_get update
step "Debian's packages for aarch64" logged "$logs/sysroot-packages.log" \
  apt_get install --no-install-recommends --download-only "${packages[@]}"
step "Unpack them" logged "$logs/sysroot-unpack.log" unpack
found=$(sed -n 's/^set(LLVM_PACKAGE_VERSION \(.*\))/\1/p' \
  "$sysroot/usr/lib/llvm-22/lib/cmake/llvm/LLVMConfig.cmake")
[ "$found" = "$version" ] ||
  die "expected LLVM $version for aarch64, as this machine has it, but Debian has $found"
printf '%s' "$stamp" >"$folder/stamp"
