//===- PlanReader.cpp - Members of JSON objects, checked ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanReader.h"

#include <algorithm>

using namespace blockscale::runtime;
using Kind = JsonValue::Kind;

static const std::vector<JsonValue> kNoElements;

std::string
blockscale::runtime::joinNames(const std::vector<std::string_view> &names) {
  std::string joined;
  for (std::string_view name : names)
    joined += (joined.empty() ? "" : ", ") + std::string(name);
  return joined;
}

void PlanReader::fail(const JsonValue &at, const std::string &message) {
  if (ok())
    status = Status::failure(std::to_string(at.line) + ":" +
                             std::to_string(at.column) + ": " + message);
}

bool PlanReader::checkKind(const JsonValue &value, Kind kind,
                           const std::string &what) {
  if (value.kind == kind)
    return true;
  fail(value, "expected " + what + " to be " +
                  std::string(getJsonKindName(kind)) + ", but got " +
                  std::string(getJsonKindName(value.kind)));
  return false;
}

const JsonValue *PlanReader::getOptional(const JsonValue &object,
                                         std::string_view key, Kind kind) {
  const JsonValue *value = object.find(key);
  if (!value || !checkKind(*value, kind, "'" + std::string(key) + "'"))
    return nullptr;
  return value;
}

const JsonValue *PlanReader::get(const JsonValue &object, std::string_view key,
                                 Kind kind) {
  if (!object.find(key))
    fail(object, "expected a member '" + std::string(key) + "'");
  return getOptional(object, key, kind);
}

void PlanReader::checkKeys(const JsonValue &object,
                           std::initializer_list<std::string_view> keys) {
  for (const JsonMember &member : object.members)
    if (std::find(keys.begin(), keys.end(), member.key) == keys.end())
      fail(member.value, "expected only the members " + joinNames(keys) +
                             ", but got '" + member.key + "'");
}

std::string PlanReader::getString(const JsonValue &object,
                                  std::string_view key) {
  const JsonValue *value = get(object, key, Kind::String);
  return value ? value->string : std::string();
}

const std::vector<JsonValue> &PlanReader::getElements(const JsonValue &object,
                                                      std::string_view key) {
  const JsonValue *value = get(object, key, Kind::Array);
  return value ? value->elements : kNoElements;
}

const std::vector<JsonValue> &
PlanReader::getOptionalElements(const JsonValue &object, std::string_view key) {
  const JsonValue *value = getOptional(object, key, Kind::Array);
  return value ? value->elements : kNoElements;
}

size_t PlanReader::toChoice(const JsonValue &value, const std::string &what,
                            const std::vector<std::string_view> &names) {
  if (!checkKind(value, Kind::String, what))
    return 0;
  auto found = std::find(names.begin(), names.end(), value.string);
  if (found != names.end())
    return found - names.begin();
  fail(value, "expected " + what + " to be one of " + joinNames(names) +
                  ", but got '" + value.string + "'");
  return 0;
}

size_t PlanReader::getChoice(const JsonValue &object, std::string_view key,
                             const std::vector<std::string_view> &names) {
  const JsonValue *value = get(object, key, Kind::String);
  return value ? toChoice(*value, "'" + std::string(key) + "'", names) : 0;
}

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
