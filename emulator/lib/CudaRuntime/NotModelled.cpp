//===- NotModelled.cpp - Functions that are not modelled ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Status.h"

using blockscale::cuda::Error;
using blockscale::cuda::failNotModelled;

// Every one ignores its parameters, which the caller passes in registers and on
// the stack and takes away itself.
#define BLOCKSCALE_NOT_MODELLED(NAME)                                          \
  extern "C" Error NAME() { return failNotModelled(#NAME, "this function"); }
#include "NotModelled.def"
