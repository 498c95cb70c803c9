//===- ScopeTable.cpp - Names of a function body --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Ptx/ScopeTable.h"

#include "llvm/ADT/StringExtras.h"

namespace blockscale::emulator {

static uint64_t getKey(uint32_t number, uint32_t scope) {
  return uint64_t(number) << 32 | scope;
}

const ScopedName *ScopeTable::declare(llvm::StringRef name, uint32_t scope,
                                      const ScopedName &declared) {
  if (declared.symbol.kind == SymbolKind::Label)
    labels[name] = true;
  uint32_t member = 0;
  if (const ScopedName *earlier = findIn(name, scope, member))
    return earlier;
  uint32_t number = numbers.try_emplace(name, numbers.size()).first->second;
  names.try_emplace(getKey(number, scope), declared);
  return nullptr;
}

const ScopedName *ScopeTable::declareRange(const RegisterDeclaration &range,
                                           const ScopedName &declared) {
  // Only the scope's own single names can collide: `%r3` with `%r<10>`.
  for (const auto &entry : numbers) {
    llvm::StringRef name = entry.first();
    uint32_t member = 0;
    if (!name.consume_front(range.name) || name.empty() ||
        name.getAsInteger(10, member) || member >= *range.range ||
        (name.size() > 1 && name.front() == '0'))
      continue;
    auto found = names.find(getKey(entry.second, range.scope));
    if (found != names.end())
      return &found->second;
  }
  return declare((range.name + "<").str(), range.scope, declared);
}

const ScopedName *ScopeTable::findIn(llvm::StringRef name, uint32_t scope,
                                     uint32_t &member) const {
  auto lookUp = [&](llvm::StringRef spelling) -> const ScopedName * {
    auto number = numbers.find(spelling);
    if (number == numbers.end())
      return nullptr;
    auto found = names.find(getKey(number->second, scope));
    return found == names.end() ? nullptr : &found->second;
  };
  member = 0;
  if (const ScopedName *found = lookUp(name))
    return found;
  // Each split of `%r12` into a range's name and a number without leading 0.
  constexpr size_t kMaxDigits = 7;
  for (size_t digits = 1; digits <= kMaxDigits && digits < name.size();
       ++digits) {
    llvm::StringRef number = name.take_back(digits);
    if (!llvm::isDigit(number.front()))
      break;
    if ((number.front() == '0' && digits > 1) ||
        number.getAsInteger(10, member))
      continue;
    const ScopedName *found = lookUp((name.drop_back(digits) + "<").str());
    if (found && member < *function.registers[found->registerDeclaration].range)
      return found;
  }
  return nullptr;
}

const ScopedName *ScopeTable::find(llvm::StringRef name, uint32_t scope,
                                   Location use, uint32_t &member) const {
  for (;;) {
    const ScopedName *found = findIn(name, scope, member);
    if (found &&
        (found->symbol.kind == SymbolKind::Label ||
         found->symbol.kind == SymbolKind::TargetList ||
         found->symbol.kind == SymbolKind::Prototype || found->location < use))
      return found;
    if (scope == 0)
      return nullptr;
    scope = function.scopes[scope].parent;
  }
}

} // namespace blockscale::emulator
