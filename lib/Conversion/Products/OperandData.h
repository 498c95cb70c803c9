//===- OperandData.h - Data of operands on their way ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The data of an operand of a product, from the buffer that the host has to
// what the kernel is given: a tensor map of them, or their address.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_OPERANDDATA_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_OPERANDDATA_H

#include "DeviceEmission/LaunchSite.h"
#include "GemmFormat.h"

namespace blockscale::products {

/// An operand of a product, A or B, where a kernel is launched. Sizes are
/// index.
struct HostOperand {
  LaunchSite &site;
  bool isA;
  /// The data, as the op has them.
  mlir::Value data;
  mlir::Value matrices, rows;
  mlir::OpFoldResult depth;
  /// Whether memory has rows of `rows` elements, one for each of K.
  bool isMnMajor = false;
  /// Of matrices whose rows alternate in memory, how many do, and how many such
  /// sets there are; null where the rows of a matrix follow each other.
  mlir::Value inner = {}, outer = {};
};

/// Its data as the kernel reads them; sizes are index.
struct OperandData {
  mlir::Value memory;
  /// Bits of an element.
  int64_t bits;
  mlir::Value matrices, rows, depth;
  /// Bytes from the begin of a row to that of the next, index; null where no
  /// gap is between them.
  mlir::Value pitch = {};
  /// Whether the data are in a workspace, and not an operand as memory holds
  /// it.
  bool isWorkspace = false;
  /// Those of the operand.
  mlir::Value inner = {}, outer = {};
  /// A tensor map of the data; null where the kernel reads memory itself.
  mlir::Value map = {};
};

/// Data of elements of `bits` bits as memory holds them.
OperandData getData(const HostOperand &operand, int64_t bits);

/// The same in rows from which copies can begin: those of memory, or a
/// workspace.
OperandData getAlignedData(const HostOperand &operand, int64_t bits);

/// What a copy brings by a tensor map.
struct MapBox {
  int64_t rows, rowBytes;
  /// The multiple of elements that rows have.
  int64_t multiple;
  /// Whether each code of 4 bits gets a byte's place.
  bool isPadded = false;
  /// Whether rows are those of K.
  bool isMnMajor = false;
};

/// Gives data a map. Maps have no empty dimensions; of what is empty nothing is
/// loaded.
void addMap(LaunchSite &site, const GemmSpec &spec, OperandData &data,
            const MapBox &box);

/// The data of an operand with scales in the format that is multiplied, with a
/// map of which a copy brings `boxRows` rows.
OperandData getScaledData(const HostOperand &operand,
                          const ScaledGemmSpec &spec, int64_t boxRows);

/// `size`, or `least` where that is more.
mlir::Value atLeast(mlir::ImplicitLocOpBuilder &b, mlir::Value size,
                    int64_t least);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_OPERANDDATA_H
