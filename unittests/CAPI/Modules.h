//===- Modules.h - Modules of the tests -------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_CAPI_MODULES_H
#define BLOCKSCALE_UNITTESTS_CAPI_MODULES_H

#include "blockscale-c/Run.h"

#include "gtest/gtest.h"

#include <string>

inline testing::AssertionResult contains(const std::string &text,
                                         const std::string &part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' in: " << text;
}

/// One op, on rows of 64.
inline const std::string kQuantize = R"(
func.func @quantize(%x: tensor<?x64xf32>)
    -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) {
  %data, %scales = blockscale.quantize %x block [1, 16]
      : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %data, %scales : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
})";

/// A quantization of rows that this rank has, by the amax over all ranks.
inline const std::string kOverRanks = R"(
func.func @quantize(%x: tensor<?x64xf32>)
    -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) {
  %a = blockscale.amax %x : tensor<?x64xf32> -> tensor<f32>
  %r = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  %data, %scales = blockscale.quantize %x block [1, 16] recipe te
      global_amax(%r : tensor<f32>)
      : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %data, %scales : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
})";

/// One op that takes scales.
inline const std::string kDequantize = R"(
func.func @dequantize(%d: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN>,
                      %g: f32) -> tensor<4x64xf32> {
  %x = blockscale.dequantize %d, %s block [1, 16] global_scale(%g : f32)
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return %x : tensor<4x64xf32>
})";

/// Writes a row of codes and one of scales into caches that the caller gives
/// away.
inline const std::string kAppend = R"(
func.func @append(%data: tensor<?x64xf8E4M3FN> {bufferization.writable = true},
                  %scale: tensor<?x2xf8E8M0FNU> {bufferization.writable = true},
                  %x: tensor<1x64xf32>, %p: index)
    -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<1x64xf32> -> tensor<1x64xf8E4M3FN>, tensor<1x2xf8E8M0FNU>
  %a = tensor.insert_slice %q into %data[%p, 0] [1, 64] [1, 1]
      : tensor<1x64xf8E4M3FN> into tensor<?x64xf8E4M3FN>
  %b = tensor.insert_slice %s into %scale[%p, 0] [1, 2] [1, 1]
      : tensor<1x2xf8E8M0FNU> into tensor<?x2xf8E8M0FNU>
  return %a, %b : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
})";

/// 60 columns are no multiple of a block; line 4.
inline const std::string kInvalid = R"(
func.func @quantize(%x: tensor<4x60xf32>)
    -> (tensor<4x60xf4E2M1FN>, tensor<4x4xf8E4M3FN>) {
  %data, %scales = blockscale.quantize %x block [1, 16]
      : tensor<4x60xf32> -> tensor<4x60xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %data, %scales : tensor<4x60xf4E2M1FN>, tensor<4x4xf8E4M3FN>
})";

#endif // BLOCKSCALE_UNITTESTS_CAPI_MODULES_H
