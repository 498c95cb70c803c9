// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_90a}))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_90a fuse=false}))' -split-input-file | FileCheck %s --check-prefix=APART

#id = affine_map<(b, h, m, n) -> (b, h, m, n)>

// Rows that alternate in memory are gathered and scattered by the kernel of the product, however
// the ops are written. Sizes of what no memory holds are those of arguments.
// CHECK-LABEL: func.func @heads
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x70x3x32xbf16>, %[[W:[a-z0-9]+]]: tensor<?x64x3x32xbf16>
// CHECK-NOT: linalg
// CHECK: %[[E:.+]] = tensor.empty(%{{.+}}) : tensor<?x70x3x64xf32>
// CHECK-NOT: linalg
// CHECK: %[[K:.+]] = blockscale.kernel ins(%[[X]], %[[W]] : {{.+}}) outs(%[[E]] : {{.+}}) family product {
// CHECK: ^bb0(%[[LX:.+]]: tensor<?x70x3x32xbf16>, %[[LW:.+]]: tensor<?x64x3x32xbf16>, %{{.+}}: tensor<?x70x3x64xf32>):
// CHECK-DAG: %[[A:.+]] = linalg.transpose ins(%[[LX]] : tensor<?x70x3x32xbf16>) outs(%{{.+}} : tensor<?x3x70x32xbf16>)
// CHECK-DAG: %[[B:.+]] = linalg.generic {{.+}} ins(%[[LW]] : tensor<?x64x3x32xbf16>) outs(%{{.+}} : tensor<?x3x64x32xbf16>)
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %[[A]], %[[B]]
// CHECK: %[[G:.+]] = linalg.generic {{.+}} ins(%[[Y]] :
// CHECK: %[[R:.+]] = linalg.transpose ins(%[[G]] : tensor<?x3x70x64xf32>)
// CHECK: blockscale.yield %[[R]] : tensor<?x70x3x64xf32>
// CHECK-NOT: linalg
// CHECK: return %{{.+}}, %[[K]]
// APART-LABEL: func.func @heads
// APART-COUNT-2: blockscale.kernel
// APART-LABEL: func.func @others
func.func @heads(%x: tensor<?x70x3x32xbf16>, %w: tensor<?x64x3x32xbf16>) -> (index, tensor<?x70x3x64xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x70x3x32xbf16>
  %ex = tensor.empty(%n) : tensor<?x3x70x32xbf16>
  %a = linalg.transpose ins(%x : tensor<?x70x3x32xbf16>) outs(%ex : tensor<?x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  %m = tensor.dim %a, %c0 : tensor<?x3x70x32xbf16>
  %ew = tensor.empty(%m) : tensor<?x3x64x32xbf16>
  %b = linalg.generic {indexing_maps = [affine_map<(b, h, m, k) -> (b, m, h, k)>, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w : tensor<?x64x3x32xbf16>) outs(%ew : tensor<?x3x64x32xbf16>) {
  ^bb0(%v: bf16, %o: bf16):
    linalg.yield %v : bf16
  } -> tensor<?x3x64x32xbf16>
  %y = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16] : tensor<?x3x70x32xbf16>, tensor<?x3x64x32xbf16> -> tensor<?x3x70x64xf32>
  %l = tensor.dim %y, %c0 : tensor<?x3x70x64xf32>
  %e = tensor.empty(%l) : tensor<?x3x70x64xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y : tensor<?x3x70x64xf32>) outs(%e : tensor<?x3x70x64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = arith.negf %v : f32
    linalg.yield %0 : f32
  } -> tensor<?x3x70x64xf32>
  %er = tensor.empty(%l) : tensor<?x70x3x64xf32>
  %r = linalg.transpose ins(%g : tensor<?x3x70x64xf32>) outs(%er : tensor<?x70x3x64xf32>) permutation = [0, 2, 1, 3]
  return %l, %r : index, tensor<?x70x3x64xf32>
}

// -----

// Nothing but rows comes to another place: a transposition that exchanges the dimensions of the
// batch, or takes columns along, is a copy.
// CHECK-LABEL: func.func @others
// CHECK: linalg.transpose
// CHECK: linalg.transpose
// CHECK: blockscale.kernel
// CHECK-NOT: linalg.transpose
// CHECK: blockscale.scaled_mm
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @others(%x: tensor<3x2x70x32xbf16>, %w: tensor<2x32x64x3xbf16>) -> tensor<2x3x70x64xbf16> {
  %ex = tensor.empty() : tensor<2x3x70x32xbf16>
  %a = linalg.transpose ins(%x : tensor<3x2x70x32xbf16>) outs(%ex : tensor<2x3x70x32xbf16>) permutation = [1, 0, 2, 3]
  %ew = tensor.empty() : tensor<2x3x64x32xbf16>
  %b = linalg.transpose ins(%w : tensor<2x32x64x3xbf16>) outs(%ew : tensor<2x3x64x32xbf16>) permutation = [0, 3, 2, 1]
  %y = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16] : tensor<2x3x70x32xbf16>, tensor<2x3x64x32xbf16> -> tensor<2x3x70x64xbf16>
  return %y : tensor<2x3x70x64xbf16>
}

// -----

// What others need, too, is in memory as they take it, and the product reads that.
// CHECK-LABEL: func.func @another_use
// CHECK: %[[A:.+]] = linalg.transpose
// CHECK: blockscale.kernel ins(%[[A]], %{{.+}} :
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @another_use(%x: tensor<2x70x3x32xbf16>, %w: tensor<2x3x64x32xbf16>) -> (tensor<2x3x70x64xbf16>, tensor<2x3x70x32xbf16>) {
  %ex = tensor.empty() : tensor<2x3x70x32xbf16>
  %a = linalg.transpose ins(%x : tensor<2x70x3x32xbf16>) outs(%ex : tensor<2x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  // expected-remark@below {{reads or writes copies whose rows are moved (epilogue_c5): expected interleaved rows of one product without scales and groups, whose operand or result nothing else takes, but got another use}}
  %y = blockscale.scaled_mm %a, %w scales(none, none) block [1, 16] : tensor<2x3x70x32xbf16>, tensor<2x3x64x32xbf16> -> tensor<2x3x70x64xbf16>
  return %y, %a : tensor<2x3x70x64xbf16>, tensor<2x3x70x32xbf16>
}

// -----

// Scales of rows have an order of their own.
// CHECK-LABEL: func.func @scales
// CHECK: %[[A:.+]] = linalg.transpose
// CHECK: %[[Y:.+]] = blockscale.kernel ins(%[[A]], %{{.+}} :
// CHECK: linalg.transpose ins(%[[Y]] :
func.func @scales(%x: tensor<2x70x3x32xbf16>, %w: tensor<2x3x64x32xf4E2M1FN>, %s: tensor<2x3x64x2xf8E4M3FN>) -> tensor<2x70x3x64xbf16> {
  %ex = tensor.empty() : tensor<2x3x70x32xbf16>
  %a = linalg.transpose ins(%x : tensor<2x70x3x32xbf16>) outs(%ex : tensor<2x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  // expected-remark@below {{reads or writes copies whose rows are moved (epilogue_c5): expected interleaved rows of one product without scales and groups, whose operand or result nothing else takes, but got an operand with scales}}
  %y = blockscale.scaled_mm %a, %w scales(none, %s) block [1, 16] : tensor<2x3x70x32xbf16>, tensor<2x3x64x32xf4E2M1FN>, tensor<2x3x64x2xf8E4M3FN> -> tensor<2x3x70x64xbf16>
  %e = tensor.empty() : tensor<2x70x3x64xbf16>
  %r = linalg.transpose ins(%y : tensor<2x3x70x64xbf16>) outs(%e : tensor<2x70x3x64xbf16>) permutation = [0, 2, 1, 3]
  return %r : tensor<2x70x3x64xbf16>
}
