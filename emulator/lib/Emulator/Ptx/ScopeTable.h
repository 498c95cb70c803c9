//===- ScopeTable.h - Names of a function body ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_PTX_SCOPETABLE_H
#define BLOCKSCALE_LIB_EMULATOR_PTX_SCOPETABLE_H

#include "blockscale/Emulator/Ast.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace blockscale::emulator {

/// A declaration as the table keeps it.
struct ScopedName {
  Location location;
  /// A register where `isRegister`, with `index` of `Function::registers`.
  bool isRegister = false;
  Symbol symbol;
  uint32_t registerDeclaration = 0;
};

/// What the names of one function stand for, by scope.
class ScopeTable {
public:
  explicit ScopeTable(const Function &function) : function(function) {}

  /// Enters a name. Gives the earlier declaration where the scope has one.
  const ScopedName *declare(llvm::StringRef name, uint32_t scope,
                            const ScopedName &declared);

  /// Enters a range such as `%r<10>`, of which each member is a name. Gives the
  /// earlier declaration where the scope has one.
  const ScopedName *declareRange(const RegisterDeclaration &range,
                                 const ScopedName &declared);

  /// A name as seen from a scope; `member` is the N of a range's `%rN`. Labels
  /// may follow their use, all else comes before it.
  const ScopedName *find(llvm::StringRef name, uint32_t scope, Location use,
                         uint32_t &member) const;

  /// Whether some scope, within reach or not, has a label of this name.
  bool hasLabel(llvm::StringRef name) const { return labels.contains(name); }

private:
  const ScopedName *findIn(llvm::StringRef name, uint32_t scope,
                           uint32_t &member) const;

  const Function &function;
  /// Numbers of names; ranges have the name of `%r<`.
  llvm::StringMap<uint32_t> numbers;
  llvm::StringMap<bool> labels;
  /// The names, by the number of the name and that of the scope.
  llvm::DenseMap<uint64_t, ScopedName> names;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_PTX_SCOPETABLE_H
