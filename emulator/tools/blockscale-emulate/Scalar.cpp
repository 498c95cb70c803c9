//===- Scalar.cpp - Scalars on the command line ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scalar.h"

#include "Fields.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

namespace blockscale::emulate {

static std::vector<uint8_t> toBytes(uint64_t bits, unsigned size) {
  std::vector<uint8_t> bytes(size);
  for (unsigned i = 0; i < size; ++i)
    bytes[i] = static_cast<uint8_t>(bits >> (8 * i));
  return bytes;
}

static llvm::Expected<std::vector<uint8_t>>
parseInteger(llvm::StringRef type, unsigned bits, llvm::StringRef value) {
  bool isSigned = type[0] == 'i';
  bool isNegative = isSigned && value.starts_with("-");
  llvm::Expected<uint64_t> magnitude = parseNumber(
      value.drop_front(isNegative), "a value of type " + llvm::Twine(type));
  if (!magnitude)
    return magnitude.takeError();
  uint64_t largest = isNegative ? uint64_t(1) << (bits - 1)
                     : isSigned ? llvm::maxIntN(bits)
                                : llvm::maxUIntN(bits);
  if (*magnitude > largest)
    return unexpected("a value that fits into " + llvm::Twine(type), value);
  return toBytes(isNegative ? 0 - *magnitude : *magnitude, bits / 8);
}

static llvm::Expected<std::vector<uint8_t>>
parseFloat(const llvm::fltSemantics &semantics, llvm::StringRef value) {
  llvm::APFloat number(semantics);
  llvm::Expected<llvm::APFloat::opStatus> status =
      number.convertFromString(value, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return unexpected("a floating-point number", value);
  }
  llvm::APInt bits = number.bitcastToAPInt();
  return toBytes(bits.getZExtValue(), bits.getBitWidth() / 8);
}

llvm::Expected<std::vector<uint8_t>> parseScalar(llvm::StringRef type,
                                                 llvm::StringRef value) {
  if (type == "f32")
    return parseFloat(llvm::APFloat::IEEEsingle(), value);
  if (type == "f64")
    return parseFloat(llvm::APFloat::IEEEdouble(), value);
  unsigned bits = 0;
  bool isInteger = !type.empty() && llvm::StringRef("iub").contains(type[0]) &&
                   !type.drop_front().getAsInteger(10, bits) &&
                   (bits == 8 || bits == 16 || bits == 32 || bits == 64);
  if (isInteger)
    return parseInteger(type, bits, value);
  return unexpected("an argument to begin with a scalar type (i32, u64, b16, "
                    "f32, ...), in, inout, out, zero, uninit, buffer, map or "
                    "bytes, and a colon",
                    type);
}

} // namespace blockscale::emulate
