// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file -verify-diagnostics | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>

// Tensors side by side are read where they are, and what elementwise ops make of others is
// computed there. Rows of the whole are those of a part.
// CHECK-LABEL: func.func @join
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<?x64xbf16>, %[[B:[a-z0-9]+]]: tensor<?x32xbf16>
// CHECK-DAG: tensor.dim %[[A]]
// CHECK: %[[R:.+]]:4 = blockscale.kernel ins(%[[B]], %[[A]] : tensor<?x32xbf16>, tensor<?x64xbf16>) outs(
// CHECK: ^bb0(%[[LB:[a-z0-9]+]]: tensor<?x32xbf16>, %[[LA:[a-z0-9]+]]: tensor<?x64xbf16>
// CHECK: %[[N:.+]] = linalg.generic {{.*}} ins(%[[LB]] :
// CHECK: %[[X:.+]] = tensor.concat dim(1) %[[LA]], %[[N]] :
// CHECK-NEXT: blockscale.quantize %[[X]] block [1, 32]
// CHECK-NEXT: blockscale.quantize %[[X]] block [32, 1] transposed
// CHECK-NEXT: blockscale.yield
// CHECK-NOT: blockscale.kernel
// CHECK-NOT: tensor.concat
func.func @join(%a: tensor<?x64xbf16>, %b: tensor<?x32xbf16>, %e: tensor<?x32xbf16>) -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>, tensor<96x?xf8E4M3FN>, tensor<96x?xf8E8M0FNU>) {
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<?x32xbf16>) outs(%e : tensor<?x32xbf16>) {
  ^bb0(%l: bf16, %o: bf16):
    %0 = arith.extf %l : bf16 to f32
    %1 = arith.negf %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<?x32xbf16>
  %x = tensor.concat dim(1) %a, %n : (tensor<?x64xbf16>, tensor<?x32xbf16>) -> tensor<?x96xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
  %p, %t = blockscale.quantize %x block [32, 1] transposed : tensor<?x96xbf16> -> tensor<96x?xf8E4M3FN>, tensor<96x?xf8E8M0FNU>
  return %q, %s, %p, %t : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>, tensor<96x?xf8E4M3FN>, tensor<96x?xf8E8M0FNU>
}

// -----

// Threads that have whole rows take them from one tensor.
// CHECK-LABEL: func.func @rows
// CHECK: tensor.concat
// CHECK: blockscale.kernel {{.*}} family rows
func.func @rows(%a: tensor<48x64xbf16>, %b: tensor<48x32xbf16>) -> (tensor<48x96xf8E4M3FN>, tensor<48x3xf8E8M0FNU>) {
  %x = tensor.concat dim(1) %a, %b : (tensor<48x64xbf16>, tensor<48x32xbf16>) -> tensor<48x96xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<48x96xbf16> -> tensor<48x96xf8E4M3FN>, tensor<48x3xf8E8M0FNU>
  return %q, %s : tensor<48x96xf8E4M3FN>, tensor<48x3xf8E8M0FNU>
}

// -----

// join_c1: a thread has 16 columns of one tensor, or fewer.
// CHECK-LABEL: func.func @join_c1_columns
// CHECK: tensor.concat
// CHECK: blockscale.kernel
func.func @join_c1_columns(%a: tensor<64x56xbf16>, %b: tensor<64x40xbf16>) -> (tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>) {
  // expected-remark @below {{is not laid together where it is read (join_c1): expected parts of a static number of columns, a multiple of 16, but got tensor<64x56xbf16>}}
  %x = tensor.concat dim(1) %a, %b : (tensor<64x56xbf16>, tensor<64x40xbf16>) -> tensor<64x96xbf16>
  %q, %s = blockscale.quantize %x block [32, 1] transposed : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  return %q, %s : tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
}

// -----

// CHECK-LABEL: func.func @join_c1_rows
// CHECK: tensor.concat
// CHECK: blockscale.kernel
func.func @join_c1_rows(%a: tensor<32x64xbf16>, %b: tensor<64x64xbf16>) -> (tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>) {
  // expected-remark @below {{(join_c1): expected a concatenation of columns, but got dim 0}}
  %x = tensor.concat dim(0) %a, %b : (tensor<32x64xbf16>, tensor<64x64xbf16>) -> tensor<96x64xbf16>
  %q, %s = blockscale.quantize %x block [32, 1] transposed : tensor<96x64xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  return %q, %s : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
}

// -----

// join_c2: the caller wants the whole.
// CHECK-LABEL: func.func @join_c2
// CHECK: tensor.concat
// CHECK: blockscale.kernel
func.func @join_c2(%a: tensor<64x32xbf16>, %b: tensor<64x64xbf16>) -> (tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>, tensor<64x96xbf16>) {
  // expected-remark @below {{(join_c2): expected all uses to be the x of ops of one kernel, but got 'func.return'}}
  %x = tensor.concat dim(1) %a, %b : (tensor<64x32xbf16>, tensor<64x64xbf16>) -> tensor<64x96xbf16>
  %q, %s = blockscale.quantize %x block [32, 1] transposed : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  return %q, %s, %x : tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>, tensor<64x96xbf16>
}
