//===- KernelTable.cpp - The kernels of a module --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace blockscale {

/// A hash of the ops of a module, whatever values they take: these are compared
/// only where the rest is equal.
static size_t getHash(gpu::GPUModuleOp module) {
  llvm::hash_code hash(0);
  module->walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

std::string KernelTable::getUniqueName(StringRef stem) {
  std::string name = stem.str();
  for (int64_t i = 1; !names.insert(name).second; ++i)
    name = (stem + "_" + Twine(i)).str();
  return name;
}

SymbolRefAttr KernelTable::insert(OwningOpRef<gpu::GPUModuleOp> alone,
                                  StringRef stem) {
  auto getSymbol = [&](StringRef name) {
    return SymbolRefAttr::get(
        module.getNameAttr(),
        FlatSymbolRefAttr::get(module.getContext(), name));
  };
  SmallVectorImpl<size_t> &candidates = entriesOf[getHash(*alone)];
  for (size_t number : candidates) {
    gpu::GPUModuleOp known = *entries[number].alone;
    if (OperationEquivalence::isEquivalentTo(
            known, *alone, OperationEquivalence::IgnoreLocations))
      return getSymbol(entries[number].name);
  }
  candidates.push_back(entries.size());
  entries.push_back({std::move(alone), getUniqueName(stem)});
  return getSymbol(entries.back().name);
}

/// Makes memory that kernels share as long as the longest that one of them has:
/// not all of them write the text of an error record.
static void growTo(LLVM::GlobalOp shared, LLVM::GlobalOp global) {
  auto type = dyn_cast<LLVM::LLVMArrayType>(shared.getGlobalType());
  auto other = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
  if (!type || !other || other.getNumElements() <= type.getNumElements())
    return;
  shared.setGlobalType(other);
  shared.setValueAttr(global.getValueAttr());
}

void KernelTable::finish() {
  Block *body = module.getBody();
  for (Entry &entry : entries) {
    llvm::StringMap<std::string> arrays;
    for (Operation &op : llvm::make_early_inc_range(*entry.alone->getBody())) {
      auto global = dyn_cast<LLVM::GlobalOp>(op);
      if (!global) {
        cast<gpu::GPUFuncOp>(op).setName(entry.name);
      } else if (global.getLinkage() == LLVM::Linkage::Internal) {
        StringRef name = global.getSymName();
        std::string own = getUniqueName((entry.name + "_" + name).str());
        arrays[name] = own;
        global.setSymName(own);
      } else {
        // Memory whose size a launch says, and the error record, are those of
        // all kernels.
        if (names.insert(global.getSymName()).second)
          op.moveBefore(body, body->begin());
        else
          growTo(module.lookupSymbol<LLVM::GlobalOp>(global.getSymName()),
                 global);
        continue;
      }
      op.moveBefore(body, body->end());
    }
    body->back().walk([&](LLVM::AddressOfOp op) {
      auto own = arrays.find(op.getGlobalName());
      if (own != arrays.end())
        op.setGlobalName(own->second);
    });
  }
  entries.clear();
}

} // namespace blockscale
