//===- PlanReader.h - Members of plans, checked -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan reader reads numbers of names and expressions, too.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_RUNTIME_PLANREADER_H
#define BLOCKSCALE_LIB_RUNTIME_PLANREADER_H

#include "blockscale/Runtime/Expression.h"
#include "blockscale/Runtime/JsonReader.h"

namespace blockscale::runtime {

class PlanReader : public JsonReader {
public:
  /// The number of the string `key`.
  size_t getNumber(const JsonValue &object, std::string_view key,
                   const NameNumbers &numbers);

  /// An integer, or the text of an expression.
  Expression getExpression(const JsonValue &object, std::string_view key,
                           const NameNumbers &dims);
  Expression toExpression(const JsonValue &value, const NameNumbers &dims);
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_PLANREADER_H
