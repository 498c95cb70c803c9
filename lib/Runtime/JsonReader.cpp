//===- JsonReader.cpp - Members of JSON objects, checked ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/JsonReader.h"

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

void JsonReader::fail(const JsonValue &at, const std::string &message) {
  if (ok())
    status = Status::failure(std::to_string(at.line) + ":" +
                             std::to_string(at.column) + ": " + message);
}

bool JsonReader::checkKind(const JsonValue &value, Kind kind,
                           const std::string &what) {
  if (value.kind == kind)
    return true;
  fail(value, "expected " + what + " to be " +
                  std::string(getJsonKindName(kind)) + ", but got " +
                  std::string(getJsonKindName(value.kind)));
  return false;
}

const JsonValue *JsonReader::getOptional(const JsonValue &object,
                                         std::string_view key, Kind kind) {
  const JsonValue *value = object.find(key);
  if (!value || !checkKind(*value, kind, "'" + std::string(key) + "'"))
    return nullptr;
  return value;
}

const JsonValue *JsonReader::get(const JsonValue &object, std::string_view key,
                                 Kind kind) {
  if (!object.find(key))
    fail(object, "expected a member '" + std::string(key) + "'");
  return getOptional(object, key, kind);
}

void JsonReader::checkKeys(const JsonValue &object,
                           std::initializer_list<std::string_view> keys) {
  for (const JsonMember &member : object.members)
    if (std::find(keys.begin(), keys.end(), member.key) == keys.end())
      fail(member.value, "expected only the members " + joinNames(keys) +
                             ", but got '" + member.key + "'");
}

std::string JsonReader::getString(const JsonValue &object,
                                  std::string_view key) {
  const JsonValue *value = get(object, key, Kind::String);
  return value ? value->string : std::string();
}

const std::vector<JsonValue> &JsonReader::getElements(const JsonValue &object,
                                                      std::string_view key) {
  const JsonValue *value = get(object, key, Kind::Array);
  return value ? value->elements : kNoElements;
}

const std::vector<JsonValue> &
JsonReader::getOptionalElements(const JsonValue &object, std::string_view key) {
  const JsonValue *value = getOptional(object, key, Kind::Array);
  return value ? value->elements : kNoElements;
}

size_t JsonReader::toChoice(const JsonValue &value, const std::string &what,
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

size_t JsonReader::getChoice(const JsonValue &object, std::string_view key,
                             const std::vector<std::string_view> &names) {
  const JsonValue *value = get(object, key, Kind::String);
  return value ? toChoice(*value, "'" + std::string(key) + "'", names) : 0;
}

double JsonReader::toNumber(const JsonValue &value, const std::string &what) {
  if (value.kind == Kind::Number)
    return value.number;
  if (value.kind == Kind::Integer)
    return static_cast<double>(value.integer);
  fail(value, "expected " + what + " to be a number, but got " +
                  std::string(getJsonKindName(value.kind)));
  return 0;
}

double JsonReader::getOptionalNumber(const JsonValue &object,
                                     std::string_view key, double absent) {
  const JsonValue *value = object.find(key);
  return value ? toNumber(*value, "'" + std::string(key) + "'") : absent;
}

int64_t JsonReader::getOptionalInteger(const JsonValue &object,
                                       std::string_view key, int64_t absent) {
  const JsonValue *value = getOptional(object, key, Kind::Integer);
  return value ? value->integer : absent;
}

bool JsonReader::getOptionalBoolean(const JsonValue &object,
                                    std::string_view key, bool absent) {
  const JsonValue *value = getOptional(object, key, Kind::Boolean);
  return value ? value->boolean : absent;
}
