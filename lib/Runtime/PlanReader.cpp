//===- PlanReader.cpp - Members of plans, checked -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanReader.h"

using namespace blockscale::runtime;
using Kind = JsonValue::Kind;

size_t PlanReader::getNumber(const JsonValue &object, std::string_view key,
                             const NameNumbers &numbers) {
  const JsonValue *value = get(object, key, Kind::String);
  // Only the first failure is reported, so the names are listed once.
  if (!value || !ok())
    return 0;
  auto found = numbers.find(value->string);
  if (found != numbers.end())
    return found->second;
  fail(*value, "expected '" + std::string(key) + "' to be one of " +
                   joinNames(numbers) + ", but got '" + value->string + "'");
  return 0;
}

Expression PlanReader::toExpression(const JsonValue &value,
                                    const NameNumbers &dims) {
  if (value.kind == Kind::Integer)
    return value.integer;
  if (value.kind != Kind::String) {
    fail(value, "expected an integer or an expression, but got " +
                    std::string(getJsonKindName(value.kind)));
    return 0;
  }
  // Only the first failure is reported, so the dims are listed once.
  if (!ok())
    return 0;
  Result<Expression> expression = Expression::parse(value.string, dims);
  if (expression.ok())
    return *expression;
  fail(value, expression.message());
  return 0;
}

Expression PlanReader::getExpression(const JsonValue &object,
                                     std::string_view key,
                                     const NameNumbers &dims) {
  const JsonValue *value = object.find(key);
  if (value)
    return toExpression(*value, dims);
  fail(object, "expected a member '" + std::string(key) + "'");
  return 0;
}
