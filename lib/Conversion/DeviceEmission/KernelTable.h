//===- KernelTable.h - The kernels of a module ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two launches share a kernel if their kernels are equal: op by op, with all
// types and attributes, but for locations. A kernel's name is for readers. It
// begins with a stem that says what the kernel does, and where two kernels that
// differ have one stem, a number follows.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_KERNELTABLE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_KERNELTABLE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace blockscale {

/// The kernels of a gpu.module, of which no two are equal.
class KernelTable {
public:
  /// The name that a kernel has as long as it is in a module of its own.
  static constexpr llvm::StringLiteral kLoneName = "kernel";

  /// `overlapsLaunches`: launches may begin before those before them have
  /// ended, and kernels wait where they must.
  KernelTable(mlir::gpu::GPUModuleOp module, bool overlapsLaunches)
      : overlapsLaunches(overlapsLaunches), module(module) {}

  /// Takes a module that holds one kernel and the shared memory of that. Gives
  /// the symbol of a kernel that equals it, which is this one if there is no
  /// other; its name begins with `stem` then.
  mlir::SymbolRefAttr insert(mlir::OwningOpRef<mlir::gpu::GPUModuleOp> alone,
                             llvm::StringRef stem);

  /// Moves all kernels into the gpu.module. To be called once, after the last
  /// one is inserted.
  void finish();

  const bool overlapsLaunches;

private:
  struct Entry {
    mlir::OwningOpRef<mlir::gpu::GPUModuleOp> alone;
    std::string name;
  };

  std::string getUniqueName(llvm::StringRef stem);

  mlir::gpu::GPUModuleOp module;
  llvm::SmallVector<Entry> entries;
  /// The numbers of entries by a hash of their ops: equal kernels have equal
  /// hashes.
  llvm::DenseMap<size_t, llvm::SmallVector<size_t, 1>> entriesOf;
  llvm::StringSet<> names;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_KERNELTABLE_H
