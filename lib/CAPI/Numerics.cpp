//===- Numerics.cpp - Quantize buffers and place scales, from C -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Numerics.h"

#include "Buffers.h"
#include "Config.h"
#include "Sizes.h"

#include "../Runtime/CApi.h"

#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/Dequantize.h"
#include "blockscale/Numerics/Pack.h"
#include "blockscale/Numerics/Quantize.h"
#include "blockscale/Numerics/ScaleLayout.h"
#include "blockscale/Runtime/FloatEnvironment.h"

using namespace blockscale::capi;
using namespace blockscale::numerics;
using blockscale::runtime::checkNotNull;
using blockscale::runtime::DefaultFloatEnvironment;
using blockscale::runtime::report;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace {

/// A configuration that has been checked.
struct Quantizer {
  Recipe recipe;
  ScaleFormat scale;
  ElementFormat format;
  InputFormat input;
  GlobalFactors global;
  int64_t rows, cols, blockRows, blockCols;

  int64_t countBands() const { return (rows + blockRows - 1) / blockRows; }
  int64_t countBlocks() const { return (cols + blockCols - 1) / blockCols; }
  int64_t getRowBytes() const {
    return format == ElementFormat::E2M1 ? getPackedSize(cols) : cols;
  }
  size_t getDataBytes() const { return rows * getRowBytes(); }
  size_t getScaleBytes() const { return countBands() * countBlocks(); }
  size_t getInputBytes() const {
    return rows * cols * (input == InputFormat::F32 ? 4 : 2);
  }
};

} // namespace

static Result<Recipe> findRecipe(const char *name) {
  if (std::optional<Recipe> recipe = parseRecipe(name))
    return *recipe;
  std::string names;
  for (Recipe recipe : kRecipes)
    names += (names.empty() ? "" : ", ") + std::string(getName(recipe));
  return Status::failure("expected recipe to be one of " + names +
                         ", but got '" + name + "'");
}

static Result<ElementFormat> findFormat(const char *name) {
  std::string names;
  for (ElementFormat format : kElementFormats) {
    if (getFormatInfo(format).name == name)
      return format;
    names +=
        (names.empty() ? "" : ", ") + std::string(getFormatInfo(format).name);
  }
  return Status::failure("expected format to be one of " + names +
                         ", but got '" + name + "'");
}

/// The names of the formats of elements that a recipe is defined for.
static std::string listFormats(Recipe recipe, ScaleFormat scale) {
  std::string names;
  for (ElementFormat format : kElementFormats)
    if (isDefinedFor(recipe, scale, format))
      names += (names.empty() ? "" : " or ") +
               std::string(getFormatInfo(format).name);
  return names;
}

static Status checkBlock(const Quantizer &quantizer) {
  int64_t size = getBlockFormat(quantizer.scale).blockSize;
  int64_t rows = quantizer.blockRows, cols = quantizer.blockCols;
  bool isNvfp4Recipe = quantizer.scale == ScaleFormat::E4M3;
  // 4over6 has its errors of rows only.
  bool isRowsOnly = isFourOverSix(quantizer.recipe);
  bool isRow = rows == 1 && cols == size;
  bool isSquare = rows == size && cols == size && !isRowsOnly;
  bool isColumn = rows == size && cols == 1 && !isNvfp4Recipe;
  std::string name(getName(quantizer.recipe));
  if (!isRow && !isSquare && !isColumn)
    return Status::failure("expected block to be " +
                           std::string(isRowsOnly ? "1x16"
                                       : isNvfp4Recipe
                                           ? "1x16 or 16x16"
                                           : "1x32, 32x1 or 32x32") +
                           " with recipe " + name + ", but got " +
                           std::to_string(rows) + "x" + std::to_string(cols));
  if (!isDefinedFor(quantizer.recipe, quantizer.scale, quantizer.format))
    return Status::failure("expected format " +
                           listFormats(quantizer.recipe, quantizer.scale) +
                           " with recipe " + name + ", but got " +
                           std::string(getFormatInfo(quantizer.format).name));
  if (acceptsTails(quantizer.recipe))
    return Status::success();
  if (quantizer.rows % rows != 0)
    return Status::failure("expected rows to be a multiple of " +
                           std::to_string(rows) + " with recipe " + name +
                           ", but got " + std::to_string(quantizer.rows));
  if (quantizer.cols % cols != 0)
    return Status::failure("expected cols to be a multiple of " +
                           std::to_string(cols) + " with recipe " + name +
                           ", but got " + std::to_string(quantizer.cols));
  return Status::success();
}

static Result<GlobalScale> getGlobal(const blockscale_quantize_config &config,
                                     Recipe recipe, ScaleFormat scale) {
  auto kind = static_cast<unsigned>(config.global);
  if (kind > BLOCKSCALE_GLOBAL_AMAX)
    return Status::failure("expected global to be from 0 to 2, but got " +
                           std::to_string(kind));
  if (kind == BLOCKSCALE_GLOBAL_ABSENT)
    return GlobalScale();
  if (scale != ScaleFormat::E4M3)
    return Status::failure("expected no global scale with recipe " +
                           std::string(getName(recipe)));
  if (isNan(config.global_value))
    return Status::failure("expected global_value to be a number, but got NaN");
  return config.global == BLOCKSCALE_GLOBAL_AMAX
             ? GlobalScale::fromAmax(config.global_value)
             : GlobalScale::fromDecodeScale(config.global_value);
}

/// The type of x.
static Result<InputFormat> getInput(blockscale_input input) {
  switch (input) {
  case BLOCKSCALE_INPUT_F32:
    return InputFormat::F32;
  case BLOCKSCALE_INPUT_BF16:
    return InputFormat::BF16;
  case BLOCKSCALE_INPUT_F16:
    return InputFormat::F16;
  }
  return Status::failure("expected input to be 0, 1 or 2, but got " +
                         std::to_string(static_cast<int>(input)));
}

static Result<Quantizer> getQuantizer(const blockscale_quantize_config *given) {
  blockscale_quantize_config config;
  Status status = readConfig(given, config);
  if (!status.ok())
    return status;
  bool isNvfp4Block = config.block_cols == 16 || config.block_rows == 16;
  Result<Recipe> recipe = findRecipe(config.recipe  ? config.recipe
                                     : isNvfp4Block ? "torchao"
                                                    : "rceil");
  if (!recipe.ok())
    return recipe.status();
  Result<ElementFormat> format =
      findFormat(config.format ? config.format : "e2m1");
  if (!format.ok())
    return format.status();
  for (int64_t size : {config.rows, config.cols})
    if (size < 0 || size > kMaxSize)
      return Status::failure("expected rows and cols from 0 to 2^31, but got " +
                             std::to_string(size));
  // A recipe of both formats is that of NVFP4 with its blocks.
  bool isNvfp4 = isDefinedFor(*recipe, ScaleFormat::E4M3) &&
                 (isNvfp4Block || !isDefinedFor(*recipe, ScaleFormat::E8M0));
  ScaleFormat scale = isNvfp4 ? ScaleFormat::E4M3 : ScaleFormat::E8M0;
  Result<GlobalScale> global = getGlobal(config, *recipe, scale);
  if (!global.ok())
    return global.status();
  Result<InputFormat> input = getInput(config.input);
  if (!input.ok())
    return input.status();
  Recipe arithmetic =
      findVariant(*recipe, scale, *format, *input).value_or(*recipe);
  Quantizer quantizer = {arithmetic,
                         scale,
                         *format,
                         *input,
                         getGlobalFactors(arithmetic, *global),
                         config.rows,
                         config.cols,
                         config.block_rows,
                         config.block_cols};
  status = checkBlock(quantizer);
  if (!status.ok())
    return status;
  return quantizer;
}

static Status checkBytes(const char *what, size_t found, size_t expected) {
  if (found == expected)
    return Status::success();
  return Status::failure("expected " + std::string(what) + " to be " +
                         std::to_string(expected) + ", but got " +
                         std::to_string(found));
}

blockscale_quantize_config blockscale_quantize_config_default() {
  return getDefault<blockscale_quantize_config>();
}

blockscale_status
blockscale_quantize_sizes(const blockscale_quantize_config *config,
                          size_t *data_bytes, size_t *scale_bytes) {
  Status status =
      checkNotNull({{"data_bytes", data_bytes}, {"scale_bytes", scale_bytes}});
  if (!status.ok())
    return report(status);
  Result<Quantizer> quantizer = getQuantizer(config);
  if (!quantizer.ok())
    return report(quantizer.status());
  *data_bytes = quantizer->getDataBytes();
  *scale_bytes = quantizer->getScaleBytes();
  return BLOCKSCALE_OK;
}

/// What is given for as many bytes as the configuration asks for.
static Result<Quantizer> prepare(const blockscale_quantize_config *config,
                                 const void *data, size_t data_bytes,
                                 const void *scales, size_t scale_bytes) {
  Result<Quantizer> quantizer = getQuantizer(config);
  if (!quantizer.ok())
    return quantizer;
  Status status =
      checkBytes("data_bytes", data_bytes, quantizer->getDataBytes());
  if (status.ok())
    status = checkBytes("scale_bytes", scale_bytes, quantizer->getScaleBytes());
  if (status.ok() && data_bytes)
    status = checkNotNull({{"data", data}});
  if (status.ok() && scale_bytes)
    status = checkNotNull({{"scales", scales}});
  if (!status.ok())
    return status;
  return quantizer;
}

/// Rows of a band as f32.
static void readBand(InputFormat input, const void *x, int64_t first,
                     std::vector<float> &values) {
  const auto *halves = static_cast<const uint16_t *>(x);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = input == InputFormat::BF16 ? decodeBF16(halves[first + i])
                : input == InputFormat::F16
                    ? decodeF16(halves[first + i])
                    : static_cast<const float *>(x)[first + i];
}

blockscale_status blockscale_quantize(const blockscale_quantize_config *config,
                                      const void *x, void *data,
                                      size_t data_bytes, void *scales,
                                      size_t scale_bytes) {
  Result<Quantizer> prepared =
      prepare(config, data, data_bytes, scales, scale_bytes);
  if (!prepared.ok())
    return report(prepared.status());
  const Quantizer &q = *prepared;
  DefaultFloatEnvironment environment;
  Status status = Status::success();
  if (data_bytes)
    status = checkNotNull({{"x", x}});
  if (status.ok())
    status = checkApart(
        {{"x", x, q.getInputBytes()}},
        {{"data", data, data_bytes}, {"scales", scales, scale_bytes}});
  if (!status.ok())
    return report(status);
  auto *rows = static_cast<uint8_t *>(data);
  auto *scale = static_cast<uint8_t *>(scales);
  for (int64_t first = 0; first < q.rows && q.cols; first += q.blockRows) {
    int64_t count = std::min(q.blockRows, q.rows - first);
    std::vector<float> values(count * q.cols);
    std::vector<uint8_t> codes(values.size());
    readBand(q.input, x, first * q.cols, values);
    for (int64_t col = 0; col < q.cols; col += q.blockCols) {
      Tile tile{count, std::min(q.blockCols, q.cols - col), q.cols, 1};
      *scale++ = quantizeTile(q.recipe, q.format, q.global, &values[col], tile,
                              &codes[col]);
    }
    for (int64_t row = 0; row < count; ++row, rows += q.getRowBytes())
      if (q.format == ElementFormat::E2M1)
        packRow(&codes[row * q.cols], q.cols, rows);
      else
        std::copy_n(&codes[row * q.cols], q.cols, rows);
  }
  return BLOCKSCALE_OK;
}

blockscale_status
blockscale_dequantize(const blockscale_quantize_config *config,
                      const void *data, size_t data_bytes, const void *scales,
                      size_t scale_bytes, float *x, size_t count) {
  Result<Quantizer> prepared =
      prepare(config, data, data_bytes, scales, scale_bytes);
  if (!prepared.ok())
    return report(prepared.status());
  const Quantizer &q = *prepared;
  DefaultFloatEnvironment environment;
  Status status = checkBytes("count", count, q.rows * q.cols);
  if (status.ok() && count)
    status = checkNotNull({{"x", x}});
  if (status.ok())
    status = checkApart(
        {{"data", data, data_bytes}, {"scales", scales, scale_bytes}},
        {{"x", x, count * sizeof(float)}});
  if (!status.ok())
    return report(status);
  const auto *codes = static_cast<const uint8_t *>(data);
  const auto *scale = static_cast<const uint8_t *>(scales);
  for (int64_t row = 0; row < q.rows; ++row)
    for (int64_t col = 0; col < q.cols; ++col) {
      const uint8_t *line = codes + row * q.getRowBytes();
      uint8_t code =
          q.format == ElementFormat::E2M1 ? unpackCode(line, col) : line[col];
      *x++ = dequantizeElement(
          q.recipe, q.format, code,
          scale[row / q.blockRows * q.countBlocks() + col / q.blockCols],
          q.global.decode);
    }
  return BLOCKSCALE_OK;
}

const char *blockscale_recipe_name(size_t index) {
  return index < std::size(kRecipes) ? getName(kRecipes[index]).data()
                                     : nullptr;
}

/// The recipe of NVFP4 with a name, for an amax that is a number.
static Result<Recipe> findGlobalRecipe(const char *recipe, float amax,
                                       const float *scale) {
  Status status = checkNotNull({{"recipe", recipe}, {"scale", scale}});
  if (!status.ok())
    return status;
  Result<Recipe> found = findRecipe(recipe);
  if (!found.ok())
    return found;
  if (!isDefinedFor(*found, ScaleFormat::E4M3))
    return Status::failure("expected a recipe of NVFP4, but got '" +
                           std::string(recipe) + "'");
  if (isNan(amax))
    return Status::failure("expected amax to be a number, but got NaN");
  return found;
}

blockscale_status blockscale_global_decode_scale(const char *recipe, float amax,
                                                 float *scale) {
  Result<Recipe> found = findGlobalRecipe(recipe, amax, scale);
  if (!found.ok())
    return report(found.status());
  DefaultFloatEnvironment environment;
  *scale = getDecodeScale(*found, amax);
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_global_encode_scale(const char *recipe,
                                                 blockscale_input input,
                                                 float amax, float *scale) {
  Result<Recipe> found = findGlobalRecipe(recipe, amax, scale);
  if (!found.ok())
    return report(found.status());
  Result<InputFormat> type = getInput(input);
  if (!type.ok())
    return report(type.status());
  DefaultFloatEnvironment environment;
  Recipe arithmetic =
      findVariant(*found, ScaleFormat::E4M3, ElementFormat::E2M1, *type)
          .value_or(*found);
  *scale = getGlobalFactors(arithmetic, GlobalScale::fromAmax(amax)).encode;
  return BLOCKSCALE_OK;
}

float blockscale_nonzero_amax(float amax) {
  DefaultFloatEnvironment environment;
  return getNonzeroAmax(amax);
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

static bool isMatrix(int64_t rows, int64_t cols) {
  return rows >= 0 && cols >= 0 && rows <= kMaxSize && cols <= kMaxSize;
}

/// The layout of a name, or null.
static const ScaleLayout *findLayout(const char *name) {
  if (name)
    for (const ScaleLayout *layout : kTiledLayouts)
      if (layout->name == name)
        return layout;
  return nullptr;
}

static int64_t getLayoutSize(const ScaleLayout &layout, int64_t rows,
                             int64_t cols) {
  return isMatrix(rows, cols) ? layout.getBytes(rows, cols) : -1;
}

static int64_t getLayoutOffset(const ScaleLayout &layout, int64_t rows,
                               int64_t cols, int64_t row, int64_t col) {
  bool isInside =
      isMatrix(rows, cols) && row >= 0 && row < rows && col >= 0 && col < cols;
  return isInside ? layout.getOffset(row, col, cols) : -1;
}

int64_t blockscale_layout_size(const char *layout, int64_t rows, int64_t cols) {
  const ScaleLayout *found = findLayout(layout);
  return found ? getLayoutSize(*found, rows, cols) : -1;
}

int64_t blockscale_layout_offset(const char *layout, int64_t rows, int64_t cols,
                                 int64_t row, int64_t col) {
  const ScaleLayout *found = findLayout(layout);
  return found ? getLayoutOffset(*found, rows, cols, row, col) : -1;
}

int64_t blockscale_swizzled_size(int64_t rows, int64_t cols) {
  return getLayoutSize(k128x4, rows, cols);
}

int64_t blockscale_swizzled_offset(int64_t rows, int64_t cols, int64_t row,
                                   int64_t col) {
  return getLayoutOffset(k128x4, rows, cols, row, col);
}

/// Checks the buffers of a matrix, of which `tilesName` names the buffer of its
/// tiles. One of the two is written.
static Status checkLayout(const ScaleLayout &layout, const void *linear,
                          int64_t rows, int64_t cols, const char *tilesName,
                          const void *tiles, size_t tilesBytes) {
  if (!isMatrix(rows, cols))
    return Status::failure("expected rows and cols from 0 to 2^31, but got " +
                           std::to_string(rows) + " and " +
                           std::to_string(cols));
  Status status = checkBytes((std::string(tilesName) + "_bytes").c_str(),
                             tilesBytes, layout.getBytes(rows, cols));
  if (status.ok() && tilesBytes)
    status = checkNotNull({{"linear", linear}, {tilesName, tiles}});
  if (status.ok())
    status = checkApart({{"linear", linear, static_cast<size_t>(rows * cols)}},
                        {{tilesName, tiles, tilesBytes}});
  return status;
}

static void toLayout(const ScaleLayout &layout, const void *linear,
                     int64_t rows, int64_t cols, void *tiles, size_t bytes) {
  const auto *from = static_cast<const uint8_t *>(linear);
  auto *to = static_cast<uint8_t *>(tiles);
  std::fill_n(to, bytes, kScalePadding);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      to[layout.getOffset(row, col, cols)] =
          from[kLinear.getOffset(row, col, cols)];
}

static void fromLayout(const ScaleLayout &layout, const void *tiles,
                       int64_t rows, int64_t cols, void *linear) {
  const auto *from = static_cast<const uint8_t *>(tiles);
  auto *to = static_cast<uint8_t *>(linear);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      to[kLinear.getOffset(row, col, cols)] =
          from[layout.getOffset(row, col, cols)];
}

/// The layout of a name, or the reason why there is none.
static Result<const ScaleLayout *> parseLayout(const char *name) {
  if (const ScaleLayout *layout = findLayout(name))
    return layout;
  std::string names;
  for (const ScaleLayout *layout : kTiledLayouts)
    names += (names.empty() ? "" : ", ") + std::string(layout->name);
  return Status::failure("expected layout to be one of " + names +
                         ", but got " +
                         (name ? "'" + std::string(name) + "'" : "NULL"));
}

/// The layout of a name, if arrays of linear scales and of tiles have it.
static Result<const ScaleLayout *> parseLayout(const char *name,
                                               const void *linear, int64_t rows,
                                               int64_t cols, const void *tiles,
                                               size_t bytes) {
  Result<const ScaleLayout *> found = parseLayout(name);
  if (!found.ok())
    return found;
  Status status =
      checkLayout(**found, linear, rows, cols, "tiles", tiles, bytes);
  if (!status.ok())
    return status;
  return found;
}

blockscale_status blockscale_to_layout(const char *layout, const void *linear,
                                       int64_t rows, int64_t cols, void *tiles,
                                       size_t tiles_bytes) {
  Result<const ScaleLayout *> found =
      parseLayout(layout, linear, rows, cols, tiles, tiles_bytes);
  if (!found.ok())
    return report(found.status());
  toLayout(**found, linear, rows, cols, tiles, tiles_bytes);
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_from_layout(const char *layout, const void *tiles,
                                         size_t tiles_bytes, int64_t rows,
                                         int64_t cols, void *linear) {
  Result<const ScaleLayout *> found =
      parseLayout(layout, linear, rows, cols, tiles, tiles_bytes);
  if (!found.ok())
    return report(found.status());
  fromLayout(**found, tiles, rows, cols, linear);
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_swizzle(const void *linear, int64_t rows,
                                     int64_t cols, void *swizzled,
                                     size_t swizzled_bytes) {
  Status status = checkLayout(k128x4, linear, rows, cols, "swizzled", swizzled,
                              swizzled_bytes);
  if (!status.ok())
    return report(status);
  toLayout(k128x4, linear, rows, cols, swizzled, swizzled_bytes);
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_unswizzle(const void *swizzled,
                                       size_t swizzled_bytes, int64_t rows,
                                       int64_t cols, void *linear) {
  Status status = checkLayout(k128x4, linear, rows, cols, "swizzled", swizzled,
                              swizzled_bytes);
  if (!status.ok())
    return report(status);
  fromLayout(k128x4, swizzled, rows, cols, linear);
  return BLOCKSCALE_OK;
}
