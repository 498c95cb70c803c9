//===- Json.cpp - JSON text -----------------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Json.h"

#include "blockscale/Runtime/JsonCursor.h"

using namespace blockscale::runtime;

const JsonValue *JsonValue::find(std::string_view key) const {
  for (const JsonMember &member : members)
    if (member.key == key)
      return &member.value;
  return nullptr;
}

std::string_view blockscale::runtime::getJsonKindName(JsonValue::Kind kind) {
  switch (kind) {
  case JsonValue::Kind::Null:
    return "null";
  case JsonValue::Kind::Boolean:
    return "a boolean";
  case JsonValue::Kind::Integer:
    return "an integer";
  case JsonValue::Kind::Number:
    return "a number with a fraction or an exponent";
  case JsonValue::Kind::String:
    return "a string";
  case JsonValue::Kind::Array:
    return "an array";
  case JsonValue::Kind::Object:
    return "an object";
  }
  return "";
}

Result<JsonValue> blockscale::runtime::parseJson(std::string_view text) {
  JsonCursor cursor(text);
  JsonValue value;
  Status status = cursor.readValue(value);
  if (status.ok())
    status = cursor.readEnd();
  if (!status.ok())
    return status;
  return value;
}
