//===- Json.h - JSON text ---------------------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RFC 8259, with two rules more: the keys of an object are all different, and a
// number without a fraction and an exponent is an integer of 64 bits. A number
// with one of them is a number of f64, whatever its value.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_JSON_H
#define BLOCKSCALE_RUNTIME_JSON_H

#include "blockscale/Runtime/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale::runtime {

struct JsonMember;

struct JsonValue {
  enum class Kind { Null, Boolean, Integer, Number, String, Array, Object };

  Kind kind = Kind::Null;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::string string;
  std::vector<JsonValue> elements;
  std::vector<JsonMember> members;
  /// Where the value begins; both count from 1, columns are bytes.
  int line = 1;
  int column = 1;

  /// The value of a member, or null.
  const JsonValue *find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

/// "a string", "an object", as messages say it.
std::string_view getJsonKindName(JsonValue::Kind kind);

/// Deepest nesting of arrays and objects that is read.
inline constexpr int kMaxJsonDepth = 32;

/// Parses a document. A failure begins with "LINE:COLUMN: ".
Result<JsonValue> parseJson(std::string_view text);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_JSON_H
