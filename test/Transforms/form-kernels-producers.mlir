// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_90a}))' -split-input-file --remarks-filter-analyse=gpu-fusion -verify-diagnostics=only-expected | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels))' -split-input-file | FileCheck %s --check-prefix=APART

// What makes x is computed where x is read: constants and a destination go along, scales of
// columns and rows are inputs. Without a chip it stays outside.
// CHECK-LABEL: func.func @fused
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<?x64xbf16>, %[[W:[a-z0-9]+]]: tensor<64xf32>, %[[R:[a-z0-9]+]]: tensor<?x1xf32>
// CHECK-NOT: linalg.generic
// CHECK: %[[K:.+]]:2 = blockscale.kernel ins(%[[A]], %[[W]], %[[R]] : tensor<?x64xbf16>, tensor<64xf32>, tensor<?x1xf32>) outs(
// CHECK-NEXT: ^bb0(%[[LA:.+]]: tensor<?x64xbf16>, %[[LW:.+]]: tensor<64xf32>, %[[LR:.+]]: tensor<?x1xf32>, %{{.+}}: tensor<?x64xf8E4M3FN>, %{{.+}}: tensor<?x2xf8E8M0FNU>):
// CHECK: %[[HALF:.+]] = arith.constant 5.000000e-01 : f32
// CHECK: %[[M:.+]] = tensor.dim %[[LA]]
// CHECK: %[[E:.+]] = tensor.empty(%[[M]]) : tensor<?x64xbf16>
// CHECK: %[[X:.+]] = linalg.generic {{.*}} ins(%[[LA]], %[[LW]], %[[LR]] : {{.*}}) outs(%[[E]] :
// CHECK: arith.mulf %{{.+}}, %[[HALF]]
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[X]] block [1, 32]
// CHECK-NEXT: blockscale.yield %[[Q]], %[[S]]
// CHECK: return %[[K]]#0, %[[K]]#1
// APART-LABEL: func.func @fused
// APART: %[[X:.+]] = linalg.generic
// APART: blockscale.kernel ins(%[[X]] :
func.func @fused(%a: tensor<?x64xbf16>, %w: tensor<64xf32>, %r: tensor<?x1xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  %m = tensor.dim %a, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %w, %r : tensor<?x64xbf16>, tensor<64xf32>, tensor<?x1xf32>) outs(%e : tensor<?x64xbf16>) {
  ^bb0(%b: bf16, %s: f32, %t: f32, %o: bf16):
    %0 = arith.extf %b : bf16 to f32
    %1 = arith.mulf %0, %half : f32
    %2 = arith.mulf %1, %s : f32
    %3 = arith.mulf %2, %t : f32
    %4 = arith.truncf %3 : f32 to bf16
    linalg.yield %4 : bf16
  } -> tensor<?x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A chain, before rows and transformed columns of its result: one kernel of all.
// CHECK-LABEL: func.func @chain
// CHECK: blockscale.kernel
// CHECK: %[[Y:.+]] = linalg.generic {{.*}} ins(%{{[a-z0-9]+}}, %{{[a-z0-9]+}} :
// CHECK: %[[X:.+]] = linalg.generic {{.*}} ins(%[[Y]] :
// CHECK-DAG: blockscale.quantize %[[X]] block [1, 16]
// CHECK-DAG: %[[H:.+]] = blockscale.hadamard %[[X]] dim 0
// CHECK-DAG: blockscale.quantize %[[H]] block [16, 1]
// CHECK: blockscale.yield
// CHECK-NOT: blockscale.kernel
func.func @chain(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>) {
  %e = tensor.empty() : tensor<64x64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: bf16, %q: bf16, %o: f32):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  // The destination is the input, which is kept.
  %f = tensor.empty() : tensor<64x64xbf16>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<64x64xf32>) outs(%f : tensor<64x64xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %0 = arith.truncf %p : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<64x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 : tensor<64x64xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q, %p : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A result that others need, too, is kept in memory by the kernel.
// CHECK-LABEL: func.func @kept
// CHECK: %[[K:.+]]:3 = blockscale.kernel ins(%{{.+}} : tensor<64x64xbf16>) outs(
// CHECK: %[[X:.+]] = linalg.generic
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[X]]
// CHECK: blockscale.yield %[[X]], %[[Q]], %[[S]]
// CHECK-NOT: blockscale.kernel
// CHECK: return %[[K]]#0, %[[K]]#1
func.func @kept(%a: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>) {
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xbf16>) outs(%a : tensor<64x64xbf16>) {
  ^bb0(%p: bf16, %o: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.negf %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<64x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %x, %q : tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// What the quantization itself waits for cannot come from its kernel.
// CHECK-LABEL: func.func @producer_c6
// CHECK: %[[X:.+]] = blockscale.kernel ins(%{{.+}} : tensor<64x64xbf16>) outs(
// CHECK: linalg.generic
// CHECK: tensor.extract %[[X]]
// CHECK: blockscale.kernel ins(%[[X]],
// CHECK-NOT: linalg.generic
func.func @producer_c6(%a: tensor<64x64xbf16>) -> tensor<64x64xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  // expected-remark @below {{is not computed where it is read (producer_c6): expected all uses to be in one kernel, but got 'tensor.extract'}}
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xbf16>) outs(%a : tensor<64x64xbf16>) {
  ^bb0(%p: bf16, %o: bf16):
    linalg.yield %p : bf16
  } -> tensor<64x64xbf16>
  %v = tensor.extract %x[%c0, %c0] : tensor<64x64xbf16>
  %g = arith.extf %v : bf16 to f32
  %q, %s = blockscale.quantize %x block [1, 16] global_amax(%g : f32) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q : tensor<64x64xf4E2M1FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Of an amax and a quantization that needs it, the first one computes x and keeps it.
// CHECK-LABEL: func.func @two_passes
// CHECK: %[[K:.+]]:2 = blockscale.kernel
// CHECK: linalg.generic
// CHECK: blockscale.amax
// CHECK: blockscale.kernel ins(%[[K]]#0, %[[K]]#1 :
// CHECK-NOT: linalg.generic
func.func @two_passes(%a: tensor<64x64xbf16>) -> tensor<64x64xf4E2M1FN> {
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xbf16>) outs(%a : tensor<64x64xbf16>) {
  ^bb0(%p: bf16, %o: bf16):
    linalg.yield %p : bf16
  } -> tensor<64x64xbf16>
  %g = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<f32>) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q : tensor<64x64xf4E2M1FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Rows of no group are not computed, so that nothing is kept with groups.
// CHECK-LABEL: func.func @producer_c6_groups
// CHECK-COUNT-2: blockscale.kernel
func.func @producer_c6_groups(%a: tensor<64x64xbf16>, %o: tensor<2xi32>) -> (tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>) {
  // expected-remark @below {{(producer_c6): expected all uses to be in one kernel, but got 'func.return'}}
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xbf16>) outs(%a : tensor<64x64xbf16>) {
  ^bb0(%p: bf16, %b: bf16):
    linalg.yield %p : bf16
  } -> tensor<64x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil offsets(%o : tensor<2xi32>) group_dim 0 : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %x, %q : tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A reader in another block.
// CHECK-LABEL: func.func @producer_c5
// CHECK-COUNT-2: blockscale.kernel
func.func @producer_c5(%a: tensor<64x64xbf16>, %c: i1) -> tensor<64x64xf8E4M3FN> {
  // expected-remark @below {{(producer_c5): expected uses in its block, of each element for itself, but got 'blockscale.quantize'}}
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xbf16>) outs(%a : tensor<64x64xbf16>) {
  ^bb0(%p: bf16, %o: bf16):
    linalg.yield %p : bf16
  } -> tensor<64x64xbf16>
  %r = scf.if %c -> tensor<64x64xf8E4M3FN> {
    %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
    scf.yield %q : tensor<64x64xf8E4M3FN>
  } else {
    %e = tensor.empty() : tensor<64x64xf8E4M3FN>
    scf.yield %e : tensor<64x64xf8E4M3FN>
  }
  return %r : tensor<64x64xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A reader of one element of it for each row of another.
// CHECK-LABEL: func.func @producer_c5_rows
// CHECK-COUNT-2: blockscale.kernel
func.func @producer_c5_rows(%a: tensor<64x64xbf16>, %w: tensor<64xbf16>) -> tensor<64x64xf8E4M3FN> {
  %f = tensor.empty() : tensor<64xbf16>
  // expected-remark @below {{(producer_c5): expected uses in its block, of each element for itself, but got 'linalg.generic'}}
  %v = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%w : tensor<64xbf16>) outs(%f : tensor<64xbf16>) {
  ^bb0(%p: bf16, %o: bf16):
    linalg.yield %p : bf16
  } -> tensor<64xbf16>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %v : tensor<64x64xbf16>, tensor<64xbf16>) outs(%a : tensor<64x64xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    linalg.yield %q : bf16
  } -> tensor<64x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q : tensor<64x64xf8E4M3FN>
}

// -----

// Sums along rows are not elementwise.
// CHECK-LABEL: func.func @producer_c1
// CHECK: linalg.generic
// CHECK: blockscale.kernel
func.func @producer_c1(%a: tensor<64x64x2xf32>, %i: tensor<64x64xf32>) -> tensor<64x64xf8E4M3FN> {
  // expected-remark @below {{is not computed where it is read (producer_c1): expected an elementwise op with one result and parallel loops, but got 2 parallel loops of 3}}
  // expected-remark @below {{has a plain kernel (producer_c1)}}
  %x = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a : tensor<64x64x2xf32>) outs(%i : tensor<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q : tensor<64x64xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A sum with what the destination holds.
// CHECK-LABEL: func.func @producer_c1_old
func.func @producer_c1_old(%a: tensor<64x64xf32>, %i: tensor<64x64xf32>) -> tensor<64x64xf8E4M3FN> {
  // expected-remark @below {{is not computed where it is read (producer_c1): expected an elementwise op with one result and parallel loops, but got a use of the old content of the result}}
  // expected-remark @below {{has a plain kernel (producer_c1)}}
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xf32>) outs(%i : tensor<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q : tensor<64x64xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A transposed input.
// CHECK-LABEL: func.func @producer_c2
func.func @producer_c2(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf8E4M3FN> {
  %e = tensor.empty() : tensor<64x64xf32>
  // expected-remark @below {{is not computed where it is read (producer_c2): expected inputs of each element, row or column in order, or of a single one, but got (d0, d1) -> (d1, d0)}}
  // expected-remark @below {{has a plain kernel (producer_c2)}}
  %x = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j, i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q : tensor<64x64xf8E4M3FN>
}

// -----

// Rows and columns alone do not say what x is as a whole.
// CHECK-LABEL: func.func @producer_c2_whole
func.func @producer_c2_whole(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64x64xf8E4M3FN> {
  %e = tensor.empty() : tensor<64x64xf32>
  // expected-remark @below {{is not computed where it is read (producer_c2): expected an input of all elements, but got none}}
  // expected-remark @below {{has a plain kernel (producer_c2)}}
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q : tensor<64x64xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func.func @producer_c3
func.func @producer_c3(%a: tensor<64x64xf64>) -> tensor<64x64xf8E4M3FN> {
  %e = tensor.empty() : tensor<64x64xf32>
  // expected-remark @below {{is not computed where it is read (producer_c3): expected inputs and results of bf16, f16 or f32, but got tensor<64x64xf64>}}
  // expected-remark @below {{has a plain kernel (producer_c3)}}
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xf64>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f64, %o: f32):
    %0 = arith.truncf %p : f64 to f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q : tensor<64x64xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Math that no pass has expanded, and a value from outside of the body.
// CHECK-LABEL: func.func @producer_c4
func.func @producer_c4(%a: tensor<64x64xf32>, %f: f32) -> (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) {
  %e = tensor.empty() : tensor<64x64xf32>
  // expected-remark @below {{is not computed where it is read (producer_c4): expected arithmetic on f32 and integers, casts of bf16 and f16 to f32 and back, and math that blockscale-expand-math expands, but got 'math.sin'}}
  // expected-remark @below {{has a plain kernel (producer_c4)}}
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.sin %p : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  // expected-remark @below {{is not computed where it is read (producer_c4): expected a body of its arguments and constants, but got a f32 from outside}}
  // expected-remark @below {{has a plain kernel (producer_c4)}}
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.mulf %p, %f : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %r, %t = blockscale.quantize %y block [1, 32] recipe rceil : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q, %r : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// An op that no quantization reads is a kernel. What asks for sizes asks its input.
// CHECK-LABEL: func.func @alone
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<?x64xf32>
// CHECK: %[[X:.+]] = blockscale.kernel ins(%[[A]] : tensor<?x64xf32>) outs(%{{.+}} : tensor<?x64xf32>)
// CHECK: %[[R:.+]] = linalg.generic
// CHECK: blockscale.yield %[[R]]
// CHECK: return %[[X]]
func.func @alone(%a: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x64xf32>) outs(%a : tensor<?x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.absf %p : f32
    linalg.yield %0 : f32
  } -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#cols = affine_map<(i, j) -> (j)>

// Blocks of rows of a dynamic length are taken without the rows: inputs of columns are not known
// there, those of each element are.
// CHECK-LABEL: func.func @producer_c7
// CHECK-COUNT-2: blockscale.kernel
// CHECK-LABEL: func.func @no_producer_c7
// CHECK-COUNT-1: blockscale.kernel
// CHECK-NOT:     blockscale.kernel
func.func @producer_c7(%a: tensor<64x?xf32>, %b: tensor<?xf32>) -> (tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a, %c1 : tensor<64x?xf32>
  %e = tensor.empty(%n) : tensor<64x?xf32>
  // expected-remark @below {{is not computed where it is read (producer_c7): expected inputs of each element for a quantization of rows of a dynamic length, but got (d0, d1) -> (d1)}}
  %x = linalg.generic {indexing_maps = [#id, #cols, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<64x?xf32>, tensor<?xf32>) outs(%e : tensor<64x?xf32>) {
  ^bb0(%p: f32, %r: f32, %o: f32):
    %0 = arith.mulf %p, %r : f32
    linalg.yield %0 : f32
  } -> tensor<64x?xf32>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x?xf32> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
  return %q, %s : tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
}
func.func @no_producer_c7(%a: tensor<64x?xf16>, %b: tensor<64x?xf16>) -> (tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a, %c1 : tensor<64x?xf16>
  %e = tensor.empty(%n) : tensor<64x?xf16>
  %x = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<64x?xf16>, tensor<64x?xf16>) outs(%e : tensor<64x?xf16>) {
  ^bb0(%p: f16, %r: f16, %o: f16):
    %0 = arith.extf %p : f16 to f32
    %1 = arith.extf %r : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to f16
    linalg.yield %3 : f16
  } -> tensor<64x?xf16>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x?xf16> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
  return %q, %s : tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
}
