#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The wheel on a machine without LLVM: a bare Debian 12 (debootstrap's minbase) in a folder, in
# which it is installed by pip into an empty environment and passes the tests of the package.
# Needs root; sources of apt, its settings and the certificates ($SSL_CERT_FILE) are this
# machine's. The last line is `N passed, N failed, N skipped`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

[ "$(id -u)" -eq 0 ] || die "expected root, who alone can make another system in a folder"
command -v debootstrap >/dev/null || apt-get install -y -q debootstrap >/dev/null
work=$(mktemp -d)
system=$work/system
trap 'umount "$system/proc" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT

"$root/scripts/wheel.sh" "$work/wheel"
step "Bare Debian 12" logged "$root/.cache/logs/debootstrap.log" \
  debootstrap --variant=minbase bookworm "$system" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
cp /etc/apt/apt.conf.d/99* "$system/etc/apt/apt.conf.d/" 2>/dev/null || true
# Not where installing the package ca-certificates would overwrite it.
certificates=/etc/machine-certificates.crt
cp "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$system$certificates"
cp -L /etc/resolv.conf "$system/etc/"
mkdir "$system/wheel" "$system/src"
cp "$work"/wheel/*.whl "$system/wheel/"
cp -a "$root"/{README.md,docs,examples,python,scripts,test} "$system/src/"

cat >"$system/run.sh" <<END
set -euo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
export {SSL_CERT_FILE,PIP_CERT,CURL_CA_BUNDLE,REQUESTS_CA_BUNDLE}=$certificates
{
  apt-get update
  apt-get install -y --no-install-recommends python3-venv
  python3 -m venv /venv
  /venv/bin/pip install /wheel/*.whl sympy safetensors
} >/install.log 2>&1 || { tail -n 20 /install.log; exit 1; }
# Nothing of LLVM is there but what the wheel brought.
[ -z "\$(find / -xdev -name 'libLLVM*' -o -xdev -name 'libMLIR*')" ]
/venv/bin/blockscale-compile --version
cd /src
/venv/bin/python -m unittest discover -s test/Package
END

# Programs find libraries beside them by it.
mount -t proc proc "$system/proc"
status=0
chroot "$system" bash /run.sh 2>&1 | tee "$work/tests.log" || status=$?
"$root/scripts/count_tests.py" "$work/tests.log" "$status"
