//===- Chips.cpp - The table of chips, from C -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Compile.h"

#include "blockscale/Driver/Executable.h"
#include "blockscale/Target/Chip.h"

using namespace blockscale;

const char *blockscale_chips(void) {
  static const std::string kNames = target::listChips();
  return kNames.c_str();
}

const char *blockscale_chip_for_capability(int major, int minor) {
  const target::Chip *chip = chooseChip({major, minor});
  // Names are literals, behind which a NUL is.
  return chip ? chip->name.data() : nullptr; // NOLINT
}

int blockscale_chip_has_products(const char *name, int /*weight_only*/) {
  const target::Chip *chip = name ? target::findChip(name) : nullptr;
  return chip && chip->hasProducts();
}
