// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

// The generic form can leave out what the syntax asks for, or give it in
// another form; each is an error of its own, before any rule looks at it.

func.func @quantize_block_missing(%x: tensor<4x64xbf16>) {
  // expected-error @below {{'blockscale.quantize' op requires attribute 'block'}}
  %0:2 = "blockscale.quantize"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>}>
      : (tensor<4x64xbf16>) -> (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>)
  return
}

// -----

func.func @quantize_block_type(%x: tensor<4x64xbf16>) {
  // expected-error @below {{'blockscale.quantize' op attribute 'block' failed to satisfy constraint: i64 dense array attribute}}
  %0:2 = "blockscale.quantize"(%x) {block = [1, 16], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>}
      : (tensor<4x64xbf16>) -> (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>)
  return
}

// -----

func.func @quantize_block_one(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected block [1, 16], [16, 1] or [16, 16] with 'f8E4M3FN' scales, but got [16]}}
  %0:2 = "blockscale.quantize"(%x) <{block = array<i64: 16>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>, transposed}>
      : (tensor<4x64xbf16>) -> (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>)
  return
}

// -----

func.func @quantize_group_dim_negative(%x: tensor<4x64xbf16>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected group_dim to be 0 (rows) or 1 (columns), but got -1}}
  %0:2 = "blockscale.quantize"(%x, %ends) <{block = array<i64: 1, 16>, group_dim = -1 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 1>}>
      : (tensor<4x64xbf16>, tensor<2xi32>) -> (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>)
  return
}

// -----

func.func @quantize_scalar_tensors(%x: tensor<bf16>) {
  // expected-error @below {{expected x to have rank 2 or more, but got rank 0}}
  %0:2 = "blockscale.quantize"(%x) <{block = array<i64: 1, 16>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>}>
      : (tensor<bf16>) -> (tensor<f4E2M1FN>, tensor<f8E4M3FN>)
  return
}

// -----

func.func @quantize_operands(%x: tensor<4x64xbf16>) {
  // expected-error @below {{operand count (1) does not match with the total size (2) specified in attribute 'operandSegmentSizes'}}
  %0:2 = "blockscale.quantize"(%x) <{block = array<i64: 1, 16>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}>
      : (tensor<4x64xbf16>) -> (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>)
  return
}

// -----

func.func @dequantize_block_missing(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN>) {
  // expected-error @below {{'blockscale.dequantize' op requires attribute 'block'}}
  %0 = "blockscale.dequantize"(%q, %s) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}>
      : (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>) -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_scalar_tensors(%q: tensor<f4E2M1FN>, %s: tensor<f8E4M3FN>) {
  // expected-error @below {{expected data to have rank 2 or more, but got rank 0}}
  %0 = "blockscale.dequantize"(%q, %s) <{block = array<i64>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}>
      : (tensor<f4E2M1FN>, tensor<f8E4M3FN>) -> tensor<f32>
  return
}

// -----

func.func @hadamard_dim_missing(%x: tensor<16x64xbf16>) {
  // expected-error @below {{'blockscale.hadamard' op requires attribute 'dim'}}
  %0 = "blockscale.hadamard"(%x) : (tensor<16x64xbf16>) -> tensor<16x64xbf16>
  return
}

// -----

func.func @hadamard_result(%x: tensor<16x64xbf16>) {
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "blockscale.hadamard"(%x) <{dim = 0}> : (tensor<16x64xbf16>) -> tensor<64x16xbf16>
  return
}

// -----

func.func @expand_scale_dim_missing(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{'blockscale.expand_scale' op requires attribute 'scale_dim'}}
  %0 = "blockscale.expand_scale"(%s) <{block = array<i64: 32, 32>}> : (tensor<8x4xf8E8M0FNU>) -> tensor<256x4xf8E8M0FNU>
  return
}

// -----

func.func @expand_scale_block_missing(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{'blockscale.expand_scale' op requires attribute 'block'}}
  %0 = "blockscale.expand_scale"(%s) <{scale_dim = #blockscale<scale_dim k>}> : (tensor<8x4xf8E8M0FNU>) -> tensor<256x4xf8E8M0FNU>
  return
}

// -----

func.func @amax_group_dim_type(%x: tensor<4x64xbf16>) {
  // expected-error @below {{'blockscale.amax' op attribute 'group_dim' failed to satisfy constraint: 64-bit signless integer attribute}}
  %0 = "blockscale.amax"(%x) {group_dim = "rows"} : (tensor<4x64xbf16>) -> tensor<f32>
  return
}
