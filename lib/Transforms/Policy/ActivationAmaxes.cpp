//===- ActivationAmaxes.cpp - Measured amaxes of activations --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/ActivationAmaxes.h"
#include "FloatText.h"
#include "TextFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ScopedPrinter.h"

#include <cmath>

using blockscale::runtime::JsonMember;
using blockscale::runtime::JsonReader;
using blockscale::runtime::JsonValue;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
using llvm::StringRef;

namespace blockscale {

bool isAmax(double value) {
  auto rounded = static_cast<float>(value);
  return rounded > 0 && std::isfinite(rounded);
}

float readAmax(JsonReader &reader, const JsonValue &value, StringRef what) {
  double number = reader.toNumber(value, what.str());
  if (reader.ok() && !isAmax(number))
    reader.fail(value, "expected " + what.str() +
                           " to be positive and finite in f32, but got " +
                           llvm::to_string(llvm::format("%g", number)));
  return static_cast<float>(number);
}

Result<ActivationAmaxes> readAmaxes(StringRef path) {
  Result<std::string> text = readText(path);
  if (!text.ok())
    return text.status();
  auto fail = [&](const std::string &message) {
    return Status::failure(path.str() + ":" + message);
  };
  Result<JsonValue> value = runtime::parseJson(*text);
  if (!value.ok())
    return fail(value.message());
  JsonReader reader;
  ActivationAmaxes amaxes;
  if (reader.checkKind(*value, JsonValue::Kind::Object, "amaxes"))
    for (const JsonMember &member : value->members)
      amaxes[member.key] =
          readAmax(reader, member.value, "the amax of '" + member.key + "'");
  if (!reader.ok())
    return fail(reader.getStatus().message());
  return amaxes;
}

std::string writeAmaxes(const ActivationAmaxes &amaxes) {
  std::vector<StringRef> names(amaxes.keys().begin(), amaxes.keys().end());
  llvm::sort(names);
  std::string text = "{";
  llvm::raw_string_ostream os(text);
  StringRef separator = "\n";
  for (StringRef name : names) {
    os << separator << "  " << llvm::json::Value(llvm::json::fixUTF8(name))
       << ": " << formatFloat(amaxes.lookup(name));
    separator = ",\n";
  }
  os << "\n}\n";
  return text;
}

} // namespace blockscale
