//===- CheckpointData.cpp - What is in files of tensors, from C -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Checkpoint.h"

#include "Buffers.h"
#include "Sizes.h"

#include "../Runtime/CApi.h"

#include "blockscale/Checkpoint/Comparison.h"
#include "blockscale/Checkpoint/GgufBlocks.h"
#include "blockscale/Checkpoint/RowOrder.h"
#include "blockscale/Checkpoint/ScaleConversion.h"
#include "blockscale/Checkpoint/TensorScan.h"
#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/Index.h"
#include "blockscale/Numerics/Pack.h"
#include "blockscale/Runtime/FloatEnvironment.h"

using blockscale::capi::CallBuffer;
using blockscale::capi::checkApart;
using blockscale::capi::kMaxSize;
using blockscale::checkpoint::alternateRows;
using blockscale::checkpoint::CodeStatistics;
using blockscale::checkpoint::compareTensors;
using blockscale::checkpoint::convertMxfp4ToFp8;
using blockscale::checkpoint::convertMxfp4ToNvfp4;
using blockscale::checkpoint::Difference;
using blockscale::checkpoint::ElementType;
using blockscale::checkpoint::findAmax;
using blockscale::checkpoint::findElementType;
using blockscale::checkpoint::findMaxExponent;
using blockscale::checkpoint::getElementBytes;
using blockscale::checkpoint::getNvfp4GlobalScale;
using blockscale::checkpoint::GgufBlockFormat;
using blockscale::checkpoint::kElementTypeNames;
using blockscale::checkpoint::kGgufMxfp4;
using blockscale::checkpoint::kGgufNvfp4;
using blockscale::checkpoint::kMaxNvfp4Exponent;
using blockscale::checkpoint::packGgufBlocks;
using blockscale::checkpoint::quantizeToGgufBlocks;
using blockscale::checkpoint::scanCodes;
using blockscale::checkpoint::scanTensor;
using blockscale::checkpoint::splitRows;
using blockscale::checkpoint::Statistics;
using blockscale::checkpoint::sumColumnSquares;
using blockscale::checkpoint::unpackGgufBlocks;
using blockscale::numerics::ceilDivide;
using blockscale::numerics::getBlockFormat;
using blockscale::numerics::getPackedSize;
using blockscale::numerics::InputFormat;
using blockscale::numerics::ScaleFormat;
using blockscale::runtime::checkNotNull;
using blockscale::runtime::DefaultFloatEnvironment;
using blockscale::runtime::Status;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {

/// Checks the arguments of a call, and keeps the first failure.
class Arguments {
public:
  void require(bool holds, const std::string &expected,
               const std::string &found) {
    if (status.ok() && !holds)
      status = Status::failure("expected " + expected + ", but got " + found);
  }
  void requirePointer(const char *name, const void *pointer) {
    if (status.ok())
      status = checkNotNull({{name, pointer}});
  }
  void requireSize(const char *name, int64_t size) {
    require(size >= 0 && size <= kMaxSize,
            std::string(name) + " from 0 to 2^31", std::to_string(size));
  }
  /// A size that is a multiple of another one.
  void requireMultiple(const char *name, int64_t size, int64_t of) {
    requireSize(name, size);
    require(size % of == 0,
            std::string(name) + " to be a multiple of " + std::to_string(of),
            std::to_string(size));
  }
  /// A buffer of as many bytes as the product of the factors.
  void requireBuffer(const char *name, const void *buffer, size_t bytes,
                     std::initializer_list<int64_t> factors) {
    int64_t expected = 1;
    bool fits = true;
    for (int64_t factor : factors)
      fits &= !__builtin_mul_overflow(expected, factor, &expected);
    require(fits, "sizes of less than 2^63 bytes", "more");
    require(bytes == static_cast<uint64_t>(expected),
            std::string(name) + " to have " + std::to_string(expected) +
                " bytes",
            std::to_string(bytes));
    if (bytes)
      requirePointer(name, buffer);
  }
  /// Results that overlap nothing.
  void requireApart(std::initializer_list<CallBuffer> read,
                    std::initializer_list<CallBuffer> written) {
    if (status.ok())
      status = checkApart(read, written);
  }
  bool ok() const { return status.ok(); }
  blockscale_status report() const {
    return blockscale::runtime::report(status);
  }

  Status status = Status::success();
};

/// The names of types of elements, as a list.
std::string listElementTypes() {
  std::string names;
  for (std::string_view name : kElementTypeNames)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

} // namespace

/// The type of that name; F32 after a failure.
static ElementType takeType(Arguments &arguments, const char *what,
                            const char *name) {
  arguments.requirePointer(what, name);
  if (!arguments.ok())
    return ElementType::F32;
  std::optional<ElementType> type = findElementType(name);
  arguments.require(type.has_value(),
                    std::string(what) + " to be one of " + listElementTypes(),
                    "'" + std::string(name) + "'");
  return type.value_or(ElementType::F32);
}

/// The number of elements in a buffer of whole elements.
static int64_t takeCount(Arguments &arguments, ElementType type,
                         const char *name, const void *x, size_t bytes) {
  auto size = static_cast<size_t>(getElementBytes(type));
  arguments.require(bytes % size == 0,
                    "the bytes of " + std::string(name) +
                        " to be a multiple of " + std::to_string(size),
                    std::to_string(bytes));
  if (bytes)
    arguments.requirePointer(name, x);
  return static_cast<int64_t>(bytes / size);
}

/// The format of blocks of that name; MXFP4 after a failure.
static GgufBlockFormat takeFormat(Arguments &arguments, const char *type,
                                  int64_t rows, int64_t cols) {
  arguments.requirePointer("type", type);
  if (!arguments.ok())
    return kGgufMxfp4;
  std::string_view name = type;
  bool isNvfp4 = name == "NVFP4";
  arguments.require(isNvfp4 || name == "MXFP4", "type to be MXFP4 or NVFP4",
                    "'" + std::string(name) + "'");
  GgufBlockFormat format = isNvfp4 ? kGgufNvfp4 : kGgufMxfp4;
  arguments.requireSize("rows", rows);
  arguments.requireMultiple("cols", cols, format.blockElements);
  return format;
}

static int64_t countBlocks(const GgufBlockFormat &format, int64_t rows,
                           int64_t cols) {
  return rows * (cols / format.blockElements);
}

/// Blocks of rows, whose sizes were checked.
static void requireBlocks(Arguments &arguments, const GgufBlockFormat &format,
                          int64_t rows, int64_t cols, const void *blocks,
                          size_t blockBytes) {
  arguments.requireBuffer(
      "blocks", blocks, blockBytes,
      {rows, cols / format.blockElements, format.getBlockBytes()});
}

/// Codes and scales of rows, whose sizes were checked.
static void requireCodes(Arguments &arguments, int64_t rows, int64_t cols,
                         int64_t blockCols, const void *codes, size_t codeBytes,
                         const void *scales, size_t scaleBytes) {
  if (!arguments.ok())
    return;
  arguments.requireBuffer("codes", codes, codeBytes,
                          {rows, getPackedSize(cols)});
  arguments.requireBuffer("scales", scales, scaleBytes,
                          {rows, ceilDivide(cols, blockCols)});
}

/// Rows of whole blocks of MXFP4.
static void requireMxfp4(Arguments &arguments, int64_t rows, int64_t cols,
                         const void *codes, size_t codeBytes,
                         const void *scales, size_t scaleBytes) {
  int64_t size = getBlockFormat(ScaleFormat::E8M0).blockSize;
  arguments.requireSize("rows", rows);
  arguments.requireMultiple("cols", cols, size);
  requireCodes(arguments, rows, cols, size, codes, codeBytes, scales,
               scaleBytes);
}

static const uint8_t *toBytes(const void *memory) {
  return static_cast<const uint8_t *>(memory);
}
static uint8_t *toBytes(void *memory) { return static_cast<uint8_t *>(memory); }

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// The format of blocks of rows. Checks what holds them in both orders.
static GgufBlockFormat takeBothOrders(Arguments &arguments, const char *type,
                                      int64_t rows, int64_t cols,
                                      const void *codes, size_t codeBytes,
                                      const void *scales, size_t scaleBytes,
                                      const void *blocks, size_t blockBytes,
                                      const uint64_t *changed) {
  GgufBlockFormat format = takeFormat(arguments, type, rows, cols);
  requireCodes(arguments, rows, cols, format.groupElements, codes, codeBytes,
               scales, scaleBytes);
  requireBlocks(arguments, format, rows, cols, blocks, blockBytes);
  arguments.requirePointer("changed", changed);
  return format;
}

blockscale_status blockscale_gguf_pack(const char *type, int64_t rows,
                                       int64_t cols, const void *codes,
                                       size_t code_bytes, const void *scales,
                                       size_t scale_bytes, void *blocks,
                                       size_t block_bytes, uint64_t *changed) {
  Arguments arguments;
  GgufBlockFormat format =
      takeBothOrders(arguments, type, rows, cols, codes, code_bytes, scales,
                     scale_bytes, blocks, block_bytes, changed);
  arguments.requireApart(
      {{"codes", codes, code_bytes}, {"scales", scales, scale_bytes}},
      {{"blocks", blocks, block_bytes}});
  if (!arguments.ok())
    return arguments.report();
  *changed = packGgufBlocks(format, countBlocks(format, rows, cols),
                            toBytes(codes), toBytes(scales), toBytes(blocks));
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_gguf_unpack(const char *type, int64_t rows,
                                         int64_t cols, const void *blocks,
                                         size_t block_bytes, void *codes,
                                         size_t code_bytes, void *scales,
                                         size_t scale_bytes,
                                         uint64_t *changed) {
  Arguments arguments;
  GgufBlockFormat format =
      takeBothOrders(arguments, type, rows, cols, codes, code_bytes, scales,
                     scale_bytes, blocks, block_bytes, changed);
  arguments.requireApart(
      {{"blocks", blocks, block_bytes}},
      {{"codes", codes, code_bytes}, {"scales", scales, scale_bytes}});
  if (!arguments.ok())
    return arguments.report();
  *changed = unpackGgufBlocks(format, countBlocks(format, rows, cols),
                              toBytes(blocks), toBytes(codes), toBytes(scales));
  return BLOCKSCALE_OK;
}

/// Checks the arguments of both orders of rows.
static Arguments checkRows(int64_t count, int64_t rows, int64_t rowBytes,
                           const void *from, const char *fromName,
                           const void *to, const char *toName, size_t bytes) {
  Arguments arguments;
  arguments.requireSize("count", count);
  arguments.requireMultiple("rows", rows, 2);
  arguments.requireSize("row_bytes", rowBytes);
  arguments.requireBuffer(fromName, from, bytes, {count, rows, rowBytes});
  if (bytes)
    arguments.requirePointer(toName, to);
  arguments.requireApart({{fromName, from, bytes}}, {{toName, to, bytes}});
  return arguments;
}

blockscale_status blockscale_split_rows(int64_t count, int64_t rows,
                                        int64_t row_bytes,
                                        const void *alternating, void *split,
                                        size_t bytes) {
  Arguments arguments = checkRows(count, rows, row_bytes, alternating,
                                  "alternating", split, "split", bytes);
  if (arguments.ok() && bytes)
    splitRows(count, rows, row_bytes, toBytes(alternating), toBytes(split));
  return arguments.report();
}

blockscale_status blockscale_alternate_rows(int64_t count, int64_t rows,
                                            int64_t row_bytes,
                                            const void *split,
                                            void *alternating, size_t bytes) {
  Arguments arguments = checkRows(count, rows, row_bytes, split, "split",
                                  alternating, "alternating", bytes);
  if (arguments.ok() && bytes)
    alternateRows(count, rows, row_bytes, toBytes(split), toBytes(alternating));
  return arguments.report();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

blockscale_status blockscale_gguf_quantize(const char *type,
                                           const char *input_type, int64_t rows,
                                           int64_t cols, const void *x,
                                           size_t x_bytes, void *blocks,
                                           size_t block_bytes) {
  Arguments arguments;
  GgufBlockFormat format = takeFormat(arguments, type, rows, cols);
  ElementType input = takeType(arguments, "input_type", input_type);
  arguments.require(getElementBytes(input) != 1,
                    "input_type to be F32, BF16 or F16",
                    std::string(kElementTypeNames[static_cast<int>(input)]));
  arguments.requireBuffer("x", x, x_bytes,
                          {rows, cols, getElementBytes(input)});
  requireBlocks(arguments, format, rows, cols, blocks, block_bytes);
  arguments.requireApart({{"x", x, x_bytes}},
                         {{"blocks", blocks, block_bytes}});
  if (!arguments.ok())
    return arguments.report();
  DefaultFloatEnvironment environment;
  InputFormat inputFormat = input == ElementType::BF16  ? InputFormat::BF16
                            : input == ElementType::F16 ? InputFormat::F16
                                                        : InputFormat::F32;
  quantizeToGgufBlocks(format, inputFormat, countBlocks(format, rows, cols), x,
                       toBytes(blocks));
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_mxfp4_max_exponent(const void *scales,
                                                size_t scale_bytes,
                                                int32_t *exponent) {
  Arguments arguments;
  int64_t count =
      takeCount(arguments, ElementType::E8M0, "scales", scales, scale_bytes);
  arguments.requirePointer("exponent", exponent);
  if (arguments.ok())
    *exponent = findMaxExponent(toBytes(scales), count);
  return arguments.report();
}

blockscale_status blockscale_mxfp4_to_nvfp4(
    int64_t rows, int64_t cols, const void *codes, size_t code_bytes,
    const void *scales, size_t scale_bytes, int32_t max_exponent,
    void *out_codes, size_t out_code_bytes, void *out_scales,
    size_t out_scale_bytes, float *global_scale, uint64_t *changed) {
  Arguments arguments;
  requireMxfp4(arguments, rows, cols, codes, code_bytes, scales, scale_bytes);
  arguments.require(max_exponent >= -blockscale::numerics::kE8M0Bias &&
                        max_exponent <= kMaxNvfp4Exponent,
                    "max_exponent from " +
                        std::to_string(-blockscale::numerics::kE8M0Bias) +
                        " to " + std::to_string(kMaxNvfp4Exponent),
                    std::to_string(max_exponent));
  arguments.requireBuffer("out_codes", out_codes, out_code_bytes,
                          {rows, cols / 2});
  int64_t size = getBlockFormat(ScaleFormat::E4M3).blockSize;
  arguments.requireBuffer("out_scales", out_scales, out_scale_bytes,
                          {rows, cols / size});
  arguments.requirePointer("global_scale", global_scale);
  arguments.requirePointer("changed", changed);
  arguments.requireApart(
      {{"codes", codes, code_bytes}, {"scales", scales, scale_bytes}},
      {{"out_codes", out_codes, out_code_bytes},
       {"out_scales", out_scales, out_scale_bytes}});
  if (!arguments.ok())
    return arguments.report();
  DefaultFloatEnvironment environment;
  *global_scale = getNvfp4GlobalScale(max_exponent);
  *changed = convertMxfp4ToNvfp4(
      rows * (cols / getBlockFormat(ScaleFormat::E8M0).blockSize),
      toBytes(codes), toBytes(scales), max_exponent, toBytes(out_codes),
      toBytes(out_scales));
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_mxfp4_to_fp8(
    int64_t rows, int64_t cols, int64_t block_rows, int64_t block_cols,
    const void *codes, size_t code_bytes, const void *scales,
    size_t scale_bytes, void *data, size_t data_bytes, float *block_scales,
    size_t block_scale_count, uint64_t *changed) {
  Arguments arguments;
  requireMxfp4(arguments, rows, cols, codes, code_bytes, scales, scale_bytes);
  int64_t size = getBlockFormat(ScaleFormat::E8M0).blockSize;
  arguments.requireSize("block_rows", block_rows);
  arguments.requireMultiple("block_cols", block_cols, size);
  arguments.require(block_rows != 0, "block_rows to be at least 1", "0");
  arguments.require(block_cols != 0,
                    "block_cols to be at least " + std::to_string(size), "0");
  if (!arguments.ok())
    return arguments.report();
  arguments.requireBuffer("data", data, data_bytes, {rows, cols});
  size_t count = 0;
  arguments.require(
      !__builtin_mul_overflow(block_scale_count, sizeof(float), &count),
      "block_scale_count to be less than 2^62",
      std::to_string(block_scale_count));
  arguments.requireBuffer("block_scales", block_scales, count,
                          {ceilDivide(rows, block_rows),
                           ceilDivide(cols, block_cols),
                           static_cast<int64_t>(sizeof(float))});
  arguments.requirePointer("changed", changed);
  arguments.requireApart(
      {{"codes", codes, code_bytes}, {"scales", scales, scale_bytes}},
      {{"data", data, data_bytes}, {"block_scales", block_scales, count}});
  if (!arguments.ok())
    return arguments.report();
  DefaultFloatEnvironment environment;
  *changed =
      convertMxfp4ToFp8({rows, cols, block_rows, block_cols}, toBytes(codes),
                        toBytes(scales), toBytes(data), block_scales);
  return BLOCKSCALE_OK;
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

blockscale_status blockscale_amax(const char *type, const void *x, size_t bytes,
                                  float *amax) {
  Arguments arguments;
  ElementType element = takeType(arguments, "type", type);
  int64_t count = takeCount(arguments, element, "x", x, bytes);
  arguments.requirePointer("amax", amax);
  if (arguments.ok())
    *amax = findAmax(element, x, count);
  return arguments.report();
}

blockscale_status blockscale_scan(const char *type, const void *x, size_t bytes,
                                  blockscale_statistics *statistics) {
  Arguments arguments;
  ElementType element = takeType(arguments, "type", type);
  int64_t count = takeCount(arguments, element, "x", x, bytes);
  arguments.requirePointer("statistics", statistics);
  if (!arguments.ok())
    return arguments.report();
  DefaultFloatEnvironment environment;
  Statistics found = scanTensor(element, x, count);
  *statistics = {found.count,    found.nan, found.infinite, found.zero,
                 found.negative, found.min, found.max,      found.least};
  return BLOCKSCALE_OK;
}

/// The columns of a block of codes, whose bytes are those of whole blocks.
static void requireBlockCols(Arguments &arguments, int64_t blockCols) {
  arguments.requireMultiple("block_cols", blockCols, 2);
  arguments.require(blockCols != 0, "block_cols to be at least 2", "0");
}

blockscale_status
blockscale_scan_codes(int64_t rows, int64_t cols, int64_t block_cols,
                      const void *codes, size_t code_bytes,
                      blockscale_code_statistics *statistics) {
  Arguments arguments;
  arguments.requireSize("rows", rows);
  arguments.requireSize("cols", cols);
  requireBlockCols(arguments, block_cols);
  if (arguments.ok())
    arguments.requireBuffer("codes", codes, code_bytes,
                            {rows, getPackedSize(cols)});
  arguments.requirePointer("statistics", statistics);
  if (!arguments.ok())
    return arguments.report();
  CodeStatistics found = scanCodes(
      rows, cols, std::min(block_cols, cols + cols % 2), toBytes(codes));
  static_assert(sizeof found == sizeof *statistics);
  std::copy_n(&found.codes[0][0], 2 * 16, &statistics->codes[0][0]);
  std::copy_n(found.largest, 8, statistics->largest);
  return BLOCKSCALE_OK;
}

/// A number for each column, which overlaps nothing of what is read.
static void requireSquares(Arguments &arguments,
                           std::initializer_list<CallBuffer> read, int64_t cols,
                           const double *squares, size_t count) {
  arguments.require(count == static_cast<size_t>(cols),
                    "count to be " + std::to_string(cols) + ", that of columns",
                    std::to_string(count));
  if (count)
    arguments.requirePointer("squares", squares);
  arguments.requireApart(read, {{"squares", squares, count * sizeof(double)}});
}

blockscale_status blockscale_column_squares(const char *type, int64_t rows,
                                            int64_t cols, const void *x,
                                            size_t bytes, double *squares,
                                            size_t count) {
  Arguments arguments;
  ElementType element = takeType(arguments, "type", type);
  arguments.requireSize("rows", rows);
  arguments.requireSize("cols", cols);
  arguments.requireBuffer("x", x, bytes,
                          {rows, cols, getElementBytes(element)});
  requireSquares(arguments, {{"x", x, bytes}}, cols, squares, count);
  if (!arguments.ok())
    return arguments.report();
  DefaultFloatEnvironment environment;
  sumColumnSquares(element, rows, cols, x, squares);
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_column_squares_of_codes(
    const char *scale_type, int64_t rows, int64_t cols, int64_t block_cols,
    const void *codes, size_t code_bytes, const void *scales,
    size_t scale_bytes, double *squares, size_t count) {
  Arguments arguments;
  ElementType type = takeType(arguments, "scale_type", scale_type);
  arguments.require(type == ElementType::E4M3 || type == ElementType::E8M0,
                    "scale_type to be F8_E4M3 or F8_E8M0",
                    std::string(kElementTypeNames[static_cast<int>(type)]));
  arguments.requireSize("rows", rows);
  arguments.requireSize("cols", cols);
  requireBlockCols(arguments, block_cols);
  requireCodes(arguments, rows, cols, block_cols, codes, code_bytes, scales,
               scale_bytes);
  requireSquares(
      arguments,
      {{"codes", codes, code_bytes}, {"scales", scales, scale_bytes}}, cols,
      squares, count);
  if (!arguments.ok())
    return arguments.report();
  DefaultFloatEnvironment environment;
  sumColumnSquares(
      type == ElementType::E8M0 ? ScaleFormat::E8M0 : ScaleFormat::E4M3, rows,
      cols, block_cols, toBytes(codes), toBytes(scales), squares);
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_compare(const char *reference_type,
                                     const void *reference,
                                     size_t reference_bytes, const char *type,
                                     const void *x, size_t bytes,
                                     blockscale_difference *difference) {
  Arguments arguments;
  ElementType expected = takeType(arguments, "reference_type", reference_type);
  ElementType element = takeType(arguments, "type", type);
  int64_t count =
      takeCount(arguments, expected, "reference", reference, reference_bytes);
  int64_t found = takeCount(arguments, element, "x", x, bytes);
  arguments.require(found == count,
                    "x to have " + std::to_string(count) +
                        " elements, as the reference",
                    std::to_string(found));
  arguments.requirePointer("difference", difference);
  if (!arguments.ok())
    return arguments.report();
  DefaultFloatEnvironment environment;
  Difference result = compareTensors(expected, reference, element, x, count);
  *difference = {result.count,
                 result.different,
                 result.incomparable,
                 result.referenceSquares,
                 result.differenceSquares,
                 result.largest,
                 result.largestIndex};
  return BLOCKSCALE_OK;
}
