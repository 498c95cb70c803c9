#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The project with LLVM 23, which Debian's unstable release (sid) has: the default preset in a bare
# sid (debootstrap's minbase) in a folder, and there the unit tests and the lit suites of `check`.
# Needs root; the settings of apt and the certificates ($SSL_CERT_FILE) are this machine's.
#
#   scripts/long/llvm23.sh            in a folder that goes at the end
#   scripts/long/llvm23.sh FOLDER     in FOLDER, which stays, so that another run compiles what changed
#
# The last line is `N passed, N failed`, with `, N skipped` where some were.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

[ "$(id -u)" -eq 0 ] || die "expected root, who alone can make another system in a folder"
command -v debootstrap >/dev/null || apt-get install -y -q debootstrap >/dev/null
if [ $# -eq 0 ]; then
  work=$(mktemp -d)
  trap 'rm -rf --one-file-system "$work"' EXIT
  system=$work/system
else
  system=$(realpath -m "$1")
fi

if ! [ -e "$system/etc/debian_version" ]; then
  step "Bare Debian sid" logged "$root/.cache/logs/debootstrap-sid.log" \
    debootstrap --variant=minbase sid "$system" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
fi
cp /etc/apt/apt.conf.d/99* "$system/etc/apt/apt.conf.d/" 2>/dev/null || true
# Not where installing the package ca-certificates would overwrite it.
certificates=/etc/machine-certificates.crt
cp "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$system$certificates"
cp -L /etc/resolv.conf "$system/etc/"

# As scripts/build.sh has ccache.
cat >"$system/run.sh" <<END
set -euo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PYTHONDONTWRITEBYTECODE=1
export {SSL_CERT_FILE,PIP_CERT}=$certificates
export CCACHE_DIR=/ccache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
{
  apt-get update
  apt-get install -y --no-install-recommends clang-23 lld-23 llvm-23-dev llvm-23-tools \
    libmlir-23-dev mlir-23-tools cmake ninja-build ccache g++ libgtest-dev libzstd-dev zlib1g-dev \
    python3-dev python3-venv
} >/install.log 2>&1 || { tail -n 20 /install.log; exit 1; }
cd /src
{
  python3 -m venv .venv
  .venv/bin/pip install --only-binary :all: -r python/requirements.txt
  .venv/bin/pip install --only-binary :all: --no-deps \
    $(sed -n 's/^ptxas_package=//p' "$root/scripts/setup.sh")
  cmake --preset default -DMLIR_DIR=/usr/lib/llvm-23/lib/cmake/mlir \
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
} >/configure.log 2>&1 || { tail -n 20 /configure.log; exit 1; }
ninja --quiet -C build all BlockScaleUnitTests
.venv/bin/python scripts/run_suites.py --build build --timeout 7200 --only unit --only lit
END

# The sources cannot be written there; what the build makes and Python's packages are the folder's
# own. These mounts go with the process that made them.
mkdir -p "$system"/{src,build,venv} "$root/build" "$root/.venv"
enter='mount -t proc proc "$0/proc"
  mount --bind "$1" "$0/src"
  mount -o remount,bind,ro "$0/src"
  mount --bind "$0/build" "$0/src/build"
  mount --bind "$0/venv" "$0/src/.venv"
  exec chroot "$0" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin bash /run.sh'
status=0
step "Build and tests with LLVM 23" \
  unshare --mount bash -ec "$enter" "$system" "$root" 2>&1 | tee "$system/tests.log" || status=$?
counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$system/tests.log" |
  tail -n 1) || true
# What ends before the tests do is one failed test.
printf '%s\n' "${counts:-0 passed, 1 failed}"
exit "$status"
