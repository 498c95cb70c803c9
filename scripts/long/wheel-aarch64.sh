#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The wheel for aarch64, cross-compiled, on a machine of another kind: QEMU runs each of its
# programs. Quantizers and products on the CPU give the bytes of the golden arrays and of this
# machine, and the tests of the package pass. Needs root, who alone can tell Linux which program
# runs those of aarch64. The last line is `N passed, N failed, N skipped`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

[ "$(id -u)" -eq 0 ] || die "expected root, who alone can have QEMU run programs of aarch64"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

qemu=/usr/bin/qemu-aarch64-static
formats=/proc/sys/fs/binfmt_misc
[ -x "$qemu" ] || apt-get install -y -q --no-install-recommends qemu-user-static >/dev/null
[ -e "$formats/register" ] || mount -t binfmt_misc binfmt_misc "$formats"
[ -e "$formats/qemu-aarch64" ] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >"$formats/register"

"$root/scripts/wheel.sh" --arch aarch64 "$work/wheel"
system=$root/.cache/aarch64/sysroot
site=$work/site

# Any glibc up to that of Debian 12.
platforms=()
for minor in 17 26 27 28 31 34 35 36; do
  platforms+=(--platform "manylinux_2_${minor}_aarch64")
done
step "Packages for aarch64" logged "$root/.cache/logs/wheel-aarch64.log" \
  "$root/.venv/bin/python" -m pip install --disable-pip-version-check --target "$site" \
  "${platforms[@]}" --python-version 3.11 --only-binary :all: "$work"/wheel/*.whl sympy safetensors

# conformance TOOL NAME: the golden arrays by a blockscale-run, whose own are in the folder NAME.
conformance() {
  # Where QEMU looks for the loader of a program and its libraries.
  QEMU_LD_PREFIX=$system "$root/.venv/bin/python" "$root/test/Conformance/run.py" \
    --cases "$root/test/Data/golden" --on cpu --tool "$1" --out "$work/$2" --jobs "$(nproc)"
}
mkdir "$work/tools"
for tool in blockscale-run blockscale-roofline; do
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$site/blockscale/_lib/blockscale" "$tool" \
    >"$work/tools/$tool"
done
chmod +x "$work"/tools/*
"$root/scripts/build.sh" blockscale-run blockscale-roofline
arrays=0 same=0 tests=0
conformance "$work/tools/blockscale-run" aarch64 >"$work/arrays.log" || arrays=$?
tail -n 1 "$work/arrays.log"
conformance "$root/build/bin/blockscale-run" here >/dev/null || same=$?
diff -r "$work/aarch64" "$work/here" || same=1
[ "$same" -eq 0 ] || arrays=1

packages=/usr/local/lib/python3.11/dist-packages
mkdir -p "$system"/{dev,proc,src,tmp,"$packages"}
echo 'root:x:0:0:root:/root:/bin/bash' >"$system/etc/passwd"
# Some programs of tests are scripts of sh.
ln -sfn bash "$system/bin/sh"
# in_system COMMAND: runs it where the system for aarch64 is the root, with this checkout as /src
# and the packages where Python has its own. What is mounted for it goes with it.
in_system() {
  unshare --mount bash -euc '
    mount --rbind /dev "$0/dev"
    mount -t proc proc "$0/proc"
    mount --bind "$1" "$0/src"
    mount --bind "$2" "$0$3"
    exec chroot "$0" /bin/bash -c "$4"' "$system" "$root" "$site" "$packages" "$1"
}
# test_module FILE: runs the tests of a module. The folder of a build is another one: what a build
# here has for tests is not for aarch64.
test_module() {
  in_system "cd /src && BLOCKSCALE_BUILD_DIR=/none HOME=/tmp OPENBLAS_NUM_THREADS=1 \
    exec python3 -m unittest discover -s test/Package -p $(basename "$1")" \
    >"$work/$(basename "$1").log" 2>&1
}
# As many modules at once as there are cores.
export -f in_system test_module
export system root site packages work
printf '%s\n' "$root"/test/Package/test_*.py |
  xargs -P "$(nproc)" -I '{}' bash -c 'test_module {}' || tests=$?
cat "$work"/test_*.py.log | tee "$work/tests.log"
"$root/scripts/count_tests.py" "$work/arrays.log" "$arrays" "$work/tests.log" "$tests"
