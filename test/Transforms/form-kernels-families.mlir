// The family of each kernel, which later stages keep.
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-sm100=to=bufferize | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a fuse=false}))' | FileCheck %s --check-prefix=APART

// The CPU has none.
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels))' | FileCheck %s --check-prefix=CPU --implicit-check-not=family

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CPU-LABEL: func.func @rows
// CPU: blockscale.kernel
// CHECK-LABEL: func.func @rows
// CHECK: blockscale.kernel {{.+}} family rows
func.func @rows(%x: tensor<64x128xbf16>) -> (tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return %q, %s : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
}

// With what makes x.
// CHECK-LABEL: func.func @rows_of_made
// CHECK: blockscale.kernel {{.+}} family rows attributes {blockscale.fusion
// APART-LABEL: func.func @rows_of_made
// APART: blockscale.kernel {{.+}} family elementwise
// APART: blockscale.kernel {{.+}} family rows
func.func @rows_of_made(%x: tensor<64x128xbf16>, %e: tensor<64x128xbf16>) -> (tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) {
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x128xbf16>) outs(%e : tensor<64x128xbf16>) {
  ^bb0(%v: bf16, %w: bf16):
    %f = arith.extf %v : bf16 to f32
    %m = arith.negf %f : f32
    %n = arith.truncf %m : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<64x128xbf16>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return %q, %s : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
}

// Rows of a dynamic length are no rows of threads.
// CHECK-LABEL: func.func @dynamic_rows
// CHECK: blockscale.kernel {{.+}} family strips
func.func @dynamic_rows(%x: tensor<64x?xbf16>) -> (tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x?xbf16> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
  return %q, %s : tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
}

// CHECK-LABEL: func.func @square_blocks
// CHECK: blockscale.kernel {{.+}} family strips
func.func @square_blocks(%x: tensor<64x128xbf16>) -> (tensor<64x128xf8E4M3FN>, tensor<2x4xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<2x4xf8E8M0FNU>
  return %q, %s : tensor<64x128xf8E4M3FN>, tensor<2x4xf8E8M0FNU>
}

// CHECK-LABEL: func.func @several
// CHECK: blockscale.kernel {{.+}} family strips
// CHECK-NOT: blockscale.kernel
// APART-LABEL: func.func @several
// APART: blockscale.kernel {{.+}} family rows
// APART: blockscale.kernel {{.+}} family strips
func.func @several(%x: tensor<64x128xbf16>) -> (tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<64x128xf8E4M3FN>, tensor<2x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  %p, %t = blockscale.quantize %x block [32, 1] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<2x128xf8E8M0FNU>
  return %q, %s, %p, %t : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<64x128xf8E4M3FN>, tensor<2x128xf8E8M0FNU>
}

// An amax of what elementwise ops make.
// CHECK-LABEL: func.func @amax_of_made
// CHECK: blockscale.kernel {{.+}} family strips
func.func @amax_of_made(%x: tensor<64x128xbf16>, %e: tensor<64x128xbf16>) -> tensor<f32> {
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x128xbf16>) outs(%e : tensor<64x128xbf16>) {
  ^bb0(%v: bf16, %w: bf16):
    %f = arith.extf %v : bf16 to f32
    %m = arith.negf %f : f32
    %n = arith.truncf %m : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<64x128xbf16>
  %a = blockscale.amax %y : tensor<64x128xbf16> -> tensor<f32>
  return %a : tensor<f32>
}

// CHECK-LABEL: func.func @amax
// CHECK: blockscale.kernel {{.+}} family op
func.func @amax(%x: tensor<64x128xbf16>) -> tensor<f32> {
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  return %a : tensor<f32>
}

// CHECK-LABEL: func.func @elementwise
// CHECK: blockscale.kernel {{.+}} family elementwise
func.func @elementwise(%x: tensor<64x128xbf16>, %e: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x128xbf16>) outs(%e : tensor<64x128xbf16>) {
  ^bb0(%v: bf16, %w: bf16):
    %f = arith.extf %v : bf16 to f32
    %m = arith.negf %f : f32
    %n = arith.truncf %m : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<64x128xbf16>
  return %y : tensor<64x128xbf16>
}

// CHECK-LABEL: func.func @program
// CHECK: blockscale.kernel {{.+}} family program
func.func @program(%x: tensor<64x128xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %a = arith.addf %acc, %v : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %sum : tensor<64xf32>
}

// CHECK-LABEL: func.func @product
// CHECK: blockscale.kernel {{.+}} family product
func.func @product(%a: tensor<64x128xf8E4M3FN>, %b: tensor<96x128xf8E4M3FN>, %sa: tensor<64x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, %sb: tensor<96x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>) -> tensor<64x96xbf16> {
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] : tensor<64x128xf8E4M3FN>, tensor<96x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, tensor<96x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>> -> tensor<64x96xbf16>
  return %0 : tensor<64x96xbf16>
}
