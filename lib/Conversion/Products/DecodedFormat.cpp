//===- DecodedFormat.cpp - Formats of decoded operands --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodedFormat.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/BlockFormat.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::products {

std::optional<DecodedFormat> DecodedFormat::find(const Product &product,
                                                 const target::Chip &chip) {
  if (product.countScaled() == 2 || !product.canBeDecoded(chip))
    return std::nullopt;
  if (product.countScaled() == 0) {
    DecodedFormat format = {};
    format.plain = product.a.getType().getElementType();
    format.block = kPlainBlockSize;
    format.isMnMajorA = product.isMnMajorA;
    format.isMnMajorB = product.isMnMajorB;
    format.keepsChain = product.keepsChain;
    return format;
  }
  bool isScaledA = static_cast<bool>(product.scaleA);
  RankedTensorType scaled = (isScaledA ? product.a : product.b).getType();
  Type plain = (isScaledA ? product.b : product.a).getType().getElementType();
  Type scale =
      (isScaledA ? product.scaleA : product.scaleB).getType().getElementType();
  numerics::ScaleFormat scaleFormat = getScaleFormat(scale);
  return DecodedFormat{/*hasScales=*/true,
                       isScaledA,
                       getElementFormat(scaled.getElementType()),
                       scaleFormat,
                       plain,
                       numerics::getBlockFormat(scaleFormat).blockSize,
                       isPrepacked(scaled),
                       product.elementFactor.isPresent(),
                       /*isMnMajorA=*/false,
                       /*isMnMajorB=*/product.isMnMajorB && !isScaledA,
                       product.keepsChain};
}

std::string DecodedFormat::getName() const {
  std::string name;
  llvm::raw_string_ostream os(name);
  if (!hasScales) {
    os << plain << (isMnMajorA ? "_km_" : "_") << plain
       << (isMnMajorB ? "_kn" : "") << (keepsChain ? "_chain" : "");
    return name;
  }
  auto code = StringRef(numerics::getFormatInfo(element).name);
  if (isScaledA)
    os << code << "_" << plain;
  else
    os << plain << "_" << code;
  os << (scale == numerics::ScaleFormat::E4M3 ? "_e4m3" : "_e8m0");
  if (isPacked)
    os << "_packed";
  if (isAcross())
    os << "_kn";
  if (keepsChain)
    os << "_chain";
  return name;
}

} // namespace blockscale::products
