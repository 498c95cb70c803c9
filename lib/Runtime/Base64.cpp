//===- Base64.cpp - Bytes as text -----------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Base64.h"

#include <algorithm>

using namespace blockscale::runtime;

/// The value of a digit of base 64 (RFC 4648), or -1.
static constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int getBase64Digit(char c) {
  size_t found = kDigits.find(c);
  return found == std::string_view::npos ? -1 : static_cast<int>(found);
}

bool blockscale::runtime::decodeBase64(std::string_view text,
                                       std::vector<uint8_t> &bytes) {
  size_t padding = 0;
  while (padding < 2 && padding < text.size() &&
         text[text.size() - 1 - padding] == '=')
    ++padding;
  if (text.size() % 4)
    return false;
  uint32_t bits = 0;
  size_t digits = text.size() - padding;
  for (size_t i = 0; i < digits; ++i) {
    int digit = getBase64Digit(text[i]);
    if (digit < 0)
      return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (i % 4)
      bytes.push_back(static_cast<uint8_t>(bits >> (6 - 2 * (i % 4))));
  }
  return true;
}

std::string blockscale::runtime::encodeBase64(const uint8_t *bytes,
                                              size_t size) {
  std::string text;
  for (size_t i = 0; i < size; i += 3) {
    size_t count = std::min<size_t>(3, size - i);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < count ? bytes[i + j] : 0);
    for (size_t j = 0; j < 4; ++j)
      text += j <= count ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}
