#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing on Debian 12 (amd64): packages by apt, Python
# packages into .venv, and ptxas into .venv where the machine has none of CUDA
# 13 or later. Reaches apt's mirrors and PyPI only, and only for what is missing.
#
#   scripts/setup.sh          what the build and `check` need
#   scripts/setup.sh --check  and what `check` uses where apt has it (clang-tidy)
#   scripts/setup.sh --long   what `check-long` needs too (sanitizers, clang-tidy)
#   scripts/setup.sh --bench  what the benchmarks need too (Google Benchmark)
#   scripts/setup.sh --wheel  what a wheel needs too (advzip)

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages=(g++ cmake ninja-build ccache clang-22 lld-22 clang-format-22
          llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
          libgtest-dev libzstd-dev python3-dev python3-venv zlib1g-dev)
optional=()
requirements=("$root/python/requirements.txt" "$root/docs/requirements.txt")
ptxas_package=nvidia-cuda-nvcc==13.5.37

case "${1:-}" in
  "") ;;
  --check) optional+=(clang-tidy-22) ;;
  --long) packages+=(libclang-rt-22-dev clang-tidy-22) ;;
  --bench) packages+=(libbenchmark-dev) ;;
  --wheel) packages+=(advancecomp) ;;
  *) die "unknown option $1" "usage: scripts/setup.sh [--check|--long|--bench|--wheel]" ;;
esac

logs=$root/.cache/logs
venv=$root/.venv
mkdir -p "$logs"
# Two scripts started at once must not both fill .venv.
exec 9>"$root/.cache/setup.lock"
flock 9

# missing_packages PACKAGE...: prints those that are not installed.
missing_packages() {
  local installed package
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qxF "$package installed" <<<"$installed" || printf '%s\n' "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

apt_get() {
  as_root apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
    -o Acquire::Retries=3 "$@"
}

refuse_without_candidate() {
  local package absent=() advice failures=()
  for package in "$@"; do
    [[ $(apt-cache policy "$package") == *"Candidate: "[0-9]* ]] || absent+=("$package")
  done
  if [ ${#absent[@]} -eq 0 ]; then return; fi
  mapfile -t failures < <(grep -m 3 -E '^[EW]: ' "$logs/apt-update.log")
  if [ ${#failures[@]} -gt 0 ]; then
    die "apt-get update could not fetch its lists; without them there is no candidate for: ${absent[*]}" \
      "${failures[@]}"
  fi
  . /etc/os-release
  if [ "${VERSION_CODENAME:-}" = bookworm ]; then
    advice="Debian 12 has LLVM 22 in its security suite; add this line to /etc/apt/sources.list:
           deb http://deb.debian.org/debian-security bookworm-security main"
  else
    advice="this set-up is made for Debian 12 (bookworm); this machine runs ${PRETTY_NAME:-another system}"
  fi
  die "apt has no candidate for: ${absent[*]}" "$advice" "and run this script again"
}

install_packages() {
  say "missing: $*"
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    die "installing packages needs root, and there is no sudo; run as root:" \
      "apt-get update && apt-get install --no-install-recommends $*"
  fi
  logged "$logs/apt-update.log" apt_get update || die \
    "apt-get update failed: no network, or a broken entry in apt's sources"
  refuse_without_candidate "$@"
  logged "$logs/apt-install.log" apt_get install --no-install-recommends "$@" || die \
    "apt-get install failed"
}

pip_install() {
  "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
    --only-binary :all: "$@"
}

# The stamp says which interpreter and which requirements .venv was made from.
# A venv is not relocatable, so its place is part of the stamp.
python_stamp() {
  printf '%s\n' "$venv"
  /usr/bin/python3 --version
  cat "${requirements[@]}" | sha256sum
}

make_venv() {
  rm -f "$venv/stamp"
  logged "$logs/venv.log" /usr/bin/python3 -m venv --clear "$venv" || die \
    "cannot make a Python environment in $venv"
  logged "$logs/pip.log" pip_install "${requirements[@]/#/--requirement=}" || die \
    "pip could not install ${requirements[*]#"$root/"} from PyPI: see above" \
    "without network access these packages cannot be had"
  python_stamp >"$venv/stamp"
}

# PTX needs no ptxas, so its absence stops nothing but cubins.
install_ptxas() {
  say "no ptxas of CUDA 13 or later found: installing $ptxas_package (NVIDIA's licence applies)"
  if ! logged "$logs/ptxas.log" pip_install --no-deps "$ptxas_package" ||
    ! "$root/scripts/find-ptxas.sh" >/dev/null; then
    say "warning: ptxas could not be installed: PTX works, cubins do not, their tests are skipped"
  fi
}

command -v dpkg-query >/dev/null || die \
  "no dpkg on this machine: set-up knows Debian's packages only" \
  "install by hand: ${packages[*]}"

start=$EPOCHREALTIME
mapfile -t missing < <(missing_packages "${packages[@]}")
if [ ${#missing[@]} -gt 0 ]; then
  step "Debian packages" install_packages "${missing[@]}"
fi
if [ ${#optional[@]} -gt 0 ]; then
  mapfile -t missing < <(missing_packages "${optional[@]}")
  if [ ${#missing[@]} -gt 0 ] && ! (step "Optional packages" install_packages "${missing[@]}"); then
    say "warning: without ${missing[*]}, what uses them is skipped"
  fi
fi
if ! [ -x "$venv/bin/python" ] || ! cmp -s "$venv/stamp" <(python_stamp); then
  step "Python packages" make_venv
fi
if ! "$root/scripts/find-ptxas.sh" >/dev/null; then
  step "ptxas" install_ptxas
fi
say "set-up complete ($(seconds_since "$start")); ptxas: $("$root/scripts/find-ptxas.sh" || echo none)"
