//===- Exchange.h - Arrays of other packages, by DLPack ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_PYTHON_NATIVE_EXCHANGE_H
#define BLOCKSCALE_PYTHON_NATIVE_EXCHANGE_H

#include <nanobind/nanobind.h>

/// Adds the class Exchanged, a view of an array that has `__dlpack__`.
void defineExchange(nanobind::module_ &module);

#endif // BLOCKSCALE_PYTHON_NATIVE_EXCHANGE_H
