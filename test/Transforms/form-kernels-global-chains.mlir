// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file 2>/dev/null | blockscale-opt -split-input-file | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_80}))' -split-input-file 2>/dev/null | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a fuse=false}))' -split-input-file 2>/dev/null | FileCheck %s --check-prefix=APART
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels))' -split-input-file 2>/dev/null | FileCheck %s --check-prefix=APART

// One kernel stores parts of the amax, and the one that quantizes takes the largest and
// computes the global scale, which something else reads later, as it does the amax.
// APART-LABEL: func.func @split
// APART-NOT: amax_parts
// APART: blockscale.amax
// APART: blockscale.global_scale
// APART: blockscale.quantize
// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf16>
// CHECK: %[[P:.+]] = blockscale.kernel ins(%[[X]] : tensor<?x64xf16>) outs(%{{.+}} : tensor<1x1024xf32>) family op
// CHECK-NEXT: ^bb0(%[[LX:[a-z0-9]+]]: tensor<?x64xf16>,
// CHECK-NEXT: %[[LP:.+]] = blockscale.amax_parts %[[LX]]
// CHECK-NEXT: blockscale.yield %[[LP]]
// CHECK: %[[R:.+]]:4 = blockscale.kernel ins(%[[P]], %[[X]] : tensor<1x1024xf32>, tensor<?x64xf16>) outs({{.*}}) family rows
// CHECK-NEXT: ^bb0(%[[LP:[a-z0-9]+]]: tensor<1x1024xf32>, %[[LX:[a-z0-9]+]]: tensor<?x64xf16>,
// CHECK-NEXT: %[[A:.+]] = blockscale.amax %[[LP]]
// CHECK-NEXT: %[[G:.+]] = blockscale.global_scale %[[A]]
// CHECK-NEXT: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[LX]] block [1, 16] global_scale(%[[G]] :
// CHECK-NEXT: blockscale.yield %[[A]], %[[G]], %[[Q]], %[[S]]
// CHECK-NOT: blockscale.kernel
// CHECK: return %[[R]]#2, %[[R]]#3, %[[R]]#0, %[[R]]#1
func.func @split(%x: tensor<?x64xf16>) -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>, tensor<f32>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<?x64xf16> -> tensor<f32>
  %g = blockscale.global_scale %a nonzero_amax : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>) : tensor<?x64xf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %q, %s, %a, %g : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>, tensor<f32>, tensor<f32>
}

// -----

// A quantization that takes the amax needs no scale.
// CHECK-LABEL: func.func @of_amax
// CHECK: amax_parts
// CHECK: blockscale.kernel ins({{.+}}) outs(%{{.+}}, %{{.+}} : tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[A:.+]] = blockscale.amax
// CHECK-NEXT: blockscale.quantize {{.+}} global_amax(%[[A]] :
// CHECK-NOT: blockscale.kernel
func.func @of_amax(%x: tensor<32x64xbf16>) -> (tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>) {
  %a = blockscale.amax %x : tensor<32x64xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  return %q, %s : tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
}

// -----

// A scale of an amax that is given is computed where x is quantized, along with the ops
// that make x. The second quantization reads it.
// CHECK-LABEL: func.func @given_amax
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<32x64xbf16>, %[[Y:[a-z0-9]+]]: tensor<32x64xbf16>, %[[A:[a-z0-9]+]]: tensor<f32>
// CHECK: %[[R:.+]]:3 = blockscale.kernel ins(%[[A]], %[[X]] :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[G:.+]] = blockscale.global_scale
// CHECK: %[[N:.+]] = linalg.generic
// CHECK: blockscale.quantize %[[N]] block [1, 16] global_scale(%[[G]] :
// CHECK-NEXT: blockscale.yield %[[G]],
// CHECK: blockscale.kernel ins(%[[Y]], %[[R]]#0 :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NOT: blockscale.kernel
#map = affine_map<(i, j) -> (i, j)>
func.func @given_amax(%x: tensor<32x64xbf16>, %y: tensor<32x64xbf16>, %a: tensor<f32>) -> (tensor<32x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>) {
  %g = blockscale.global_scale %a : tensor<f32>
  %e = tensor.empty() : tensor<32x64xbf16>
  %n = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<32x64xbf16>) outs(%e : tensor<32x64xbf16>) {
  ^bb0(%i: bf16, %o: bf16):
    %0 = arith.extf %i : bf16 to f32
    %1 = arith.negf %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<32x64xbf16>
  %q, %s = blockscale.quantize %n block [1, 16] global_scale(%g : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  %p, %t = blockscale.quantize %y block [1, 16] global_scale(%g : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  return %q, %p : tensor<32x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>
}

// -----

// The amax is needed before the quantization: it is whole then.
// CHECK-LABEL: func.func @needed_before
// CHECK-NOT: amax_parts
// CHECK: tensor.extract
// CHECK-NOT: amax_parts
func.func @needed_before(%x: tensor<32x64xbf16>, %m: memref<f32>) -> tensor<32x64xf4E2M1FN> {
  %a = blockscale.amax %x : tensor<32x64xbf16> -> tensor<f32>
  %e = tensor.extract %a[] : tensor<f32>
  memref.store %e, %m[] : memref<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  return %q : tensor<32x64xf4E2M1FN>
}

// -----

// So is the scale, which is a kernel of its own then.
// CHECK-LABEL: func.func @scale_needed_before
// CHECK-NOT: amax_parts
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.global_scale
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
func.func @scale_needed_before(%x: tensor<32x64xbf16>, %m: memref<f32>) -> tensor<32x64xf4E2M1FN> {
  %a = blockscale.amax %x : tensor<32x64xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  %e = tensor.extract %g[] : tensor<f32>
  memref.store %e, %m[] : memref<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  return %q : tensor<32x64xf4E2M1FN>
}

// -----

// An amax for each matrix; an amax of another tensor; rows without elements.
// CHECK-LABEL: func.func @each
// CHECK-NOT: amax_parts
// CHECK-LABEL: func.func @other
// CHECK-NOT: amax_parts
// CHECK-LABEL: func.func @empty_rows
// CHECK-NOT: amax_parts
func.func @each(%x: tensor<2x32x64xbf16>) -> tensor<2x32x64xf4E2M1FN> {
  %a = blockscale.amax %x : tensor<2x32x64xbf16> -> tensor<2xf32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<2xf32>) : tensor<2x32x64xbf16> -> tensor<2x32x64xf4E2M1FN>, tensor<2x32x4xf8E4M3FN>
  return %q : tensor<2x32x64xf4E2M1FN>
}
func.func @other(%x: tensor<32x64xbf16>, %y: tensor<32x64xbf16>) -> tensor<32x64xf4E2M1FN> {
  %a = blockscale.amax %y : tensor<32x64xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  return %q : tensor<32x64xf4E2M1FN>
}
func.func @empty_rows(%x: tensor<32x0xbf16>) -> (tensor<32x0xf4E2M1FN>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<32x0xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<32x0xbf16> -> tensor<32x0xf4E2M1FN>, tensor<32x0xf8E4M3FN>
  return %q, %a : tensor<32x0xf4E2M1FN>, tensor<f32>
}

// -----

// Elementwise ops that make x are computed with its amax, which is raised; the scale is
// computed where x is quantized.
// CHECK-LABEL: func.func @of_producer
// CHECK-NOT: amax_parts
// CHECK: blockscale.amax
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.global_scale
// CHECK: blockscale.quantize
// CHECK-NOT: blockscale.kernel
#map = affine_map<(i, j) -> (i, j)>
func.func @of_producer(%x: tensor<32x64xbf16>) -> tensor<32x64xf4E2M1FN> {
  %e = tensor.empty() : tensor<32x64xbf16>
  %n = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<32x64xbf16>) outs(%e : tensor<32x64xbf16>) {
  ^bb0(%i: bf16, %o: bf16):
    %0 = arith.extf %i : bf16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<32x64xbf16>
  %a = blockscale.amax %n : tensor<32x64xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  %q, %s = blockscale.quantize %n block [1, 16] global_scale(%g : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  return %q : tensor<32x64xf4E2M1FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A norm, too: its kernel stores what it computes, and the parts.
// CHECK-LABEL: func.func @norm
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x128xf32>
// CHECK: %[[N:.+]]:2 = blockscale.kernel ins(%[[X]] : tensor<?x128xf32>) outs(%{{.+}}, %{{.+}} : tensor<?x128xf32>, tensor<1x1024xf32>) family program
// CHECK: "reduction"
// CHECK: %[[Y:.+]] = linalg.generic
// CHECK: %[[P:.+]] = blockscale.amax_parts %[[Y]]
// CHECK-NEXT: blockscale.yield %[[Y]], %[[P]]
// CHECK: blockscale.kernel ins(%[[N]]#1, %[[N]]#0 :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax
// CHECK-NEXT: blockscale.global_scale
// CHECK-NEXT: blockscale.quantize
// CHECK-NOT: blockscale.kernel
func.func @norm(%x: tensor<?x128xf32>) -> (tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x128xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %d = tensor.empty(%m) : tensor<?x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x128xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<?x128xf32>, tensor<?xf32>) outs(%d : tensor<?x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x128xf32>
  %am = blockscale.amax %y : tensor<?x128xf32> -> tensor<f32>
  %g = blockscale.global_scale %am : tensor<f32>
  %q, %s = blockscale.quantize %y block [1, 16] global_scale(%g : tensor<f32>) : tensor<?x128xf32> -> tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>
  return %q, %s : tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>
}

// -----

// A quantization that takes the amax has the scale of it beside, which what decodes its codes reads
// later.
// CHECK-LABEL: func.func @scale_beside
// CHECK: %[[P:.+]] = blockscale.kernel {{.+}} family op
// CHECK: %[[R:.+]]:3 = blockscale.kernel ins(%[[P]], {{.+}} family rows
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[A:.+]] = blockscale.amax
// CHECK-NEXT: %[[G:.+]] = blockscale.global_scale %[[A]] recipe te
// CHECK-NEXT: %[[Q:.+]], %[[S:.+]] = blockscale.quantize {{.+}} global_amax(%[[A]] :
// CHECK-NEXT: blockscale.yield %[[G]], %[[Q]], %[[S]]
// CHECK-NOT: blockscale.kernel
func.func @scale_beside(%x: tensor<32x64xf32>) -> (tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<32x64xf32> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<32x64xf32> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  %g = blockscale.global_scale %a recipe te : tensor<f32>
  return %q, %s, %g : tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<f32>
}

// -----

// Rows and transformed columns of x: one kernel stores the parts of both amaxes, and the one that
// quantizes takes the largest of each, and computes the scale of one.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xbf16>
// CHECK: %[[P:.+]]:2 = blockscale.kernel ins(%[[X]] : tensor<?x64xbf16>) outs(%{{.+}}, %{{.+}} : tensor<1x1024xf32>, tensor<1x1024xf32>) family strips
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[LP:.+]] = blockscale.amax_parts
// CHECK-NEXT: %[[H:.+]] = blockscale.hadamard
// CHECK-NEXT: %[[LR:.+]] = blockscale.amax_parts %[[H]]
// CHECK-NEXT: blockscale.yield %[[LP]], %[[LR]]
// CHECK: blockscale.kernel ins(%[[P]]#{{[01]}}, %[[P]]#{{[01]}}, %[[X]] : {{.+}} family strips
// CHECK-NEXT: ^bb0
// CHECK: blockscale.amax
// CHECK: blockscale.global_scale
// CHECK: blockscale.quantize
// CHECK: blockscale.quantize
// CHECK-NOT: blockscale.kernel
func.func @rows_and_columns(%x: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN>, tensor<64x?xf4E2M1FN>, tensor<f32>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<?x64xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a recipe te : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 : tensor<?x64xbf16>
  %b = blockscale.amax %h : tensor<?x64xbf16> -> tensor<f32>
  %p, %t = blockscale.quantize %h block [16, 1] transposed recipe te global_amax(%b : tensor<f32>) : tensor<?x64xbf16> -> tensor<64x?xf4E2M1FN>, tensor<64x?xf8E4M3FN>
  return %q, %p, %g, %b : tensor<?x64xf4E2M1FN>, tensor<64x?xf4E2M1FN>, tensor<f32>, tensor<f32>
}

// -----

// A weight in squares, in both directions, under one amax; and blocks of several rows alone.
// CHECK-LABEL: func.func @squares
// CHECK: blockscale.kernel {{.+}} family op
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax_parts
// CHECK: blockscale.kernel {{.+}} family strips
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[A:.+]] = blockscale.amax
// CHECK-NEXT: blockscale.quantize {{.+}} global_amax(%[[A]] :
// CHECK-NEXT: blockscale.quantize {{.+}} global_amax(%[[A]] :
// CHECK-NOT: blockscale.kernel
// CHECK-LABEL: func.func @tall
// CHECK: amax_parts
// CHECK: blockscale.kernel {{.+}} family strips
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[A:.+]] = blockscale.amax
// CHECK-NEXT: %[[G:.+]] = blockscale.global_scale %[[A]]
// CHECK-NEXT: blockscale.quantize {{.+}} global_scale(%[[G]] :
// CHECK-NOT: blockscale.kernel
func.func @squares(%x: tensor<32x64xbf16>) -> (tensor<32x64xf4E2M1FN>, tensor<64x32xf4E2M1FN>) {
  %a = blockscale.amax %x : tensor<32x64xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [16, 16] recipe te global_amax(%a : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<2x4xf8E4M3FN>
  %p, %t = blockscale.quantize %x block [16, 16] transposed recipe te global_amax(%a : tensor<f32>) : tensor<32x64xbf16> -> tensor<64x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  return %q, %p : tensor<32x64xf4E2M1FN>, tensor<64x32xf4E2M1FN>
}
func.func @tall(%x: tensor<32x64xf32>) -> tensor<32x64xf4E2M1FN> {
  %a = blockscale.amax %x : tensor<32x64xf32> -> tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  %q, %s = blockscale.quantize %x block [16, 16] global_scale(%g : tensor<f32>) : tensor<32x64xf32> -> tensor<32x64xf4E2M1FN>, tensor<2x4xf8E4M3FN>
  return %q : tensor<32x64xf4E2M1FN>
}

// -----

// Of two amaxes that one kernel takes, one is needed before the quantization, or nothing that is
// quantized needs it: both are whole then.
// CHECK-LABEL: func.func @one_needed_before
// CHECK-NOT: amax_parts
// CHECK-LABEL: func.func @one_not_needed
// CHECK-NOT: amax_parts
func.func @one_needed_before(%x: tensor<32x64xbf16>) -> (tensor<32x64xf4E2M1FN>, tensor<64x32xf4E2M1FN>) {
  %h = blockscale.hadamard %x dim 0 : tensor<32x64xbf16>
  %a = blockscale.amax %x : tensor<32x64xbf16> -> tensor<f32>
  %b = blockscale.amax %h : tensor<32x64xbf16> -> tensor<f32>
  %e = tensor.extract %b[] : tensor<f32>
  %n = arith.addf %e, %e : f32
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  %p, %t = blockscale.quantize %h block [16, 1] transposed recipe te global_amax(%n : f32) : tensor<32x64xbf16> -> tensor<64x32xf4E2M1FN>, tensor<64x2xf8E4M3FN>
  return %q, %p : tensor<32x64xf4E2M1FN>, tensor<64x32xf4E2M1FN>
}
func.func @one_not_needed(%x: tensor<32x64xbf16>) -> (tensor<32x64xf4E2M1FN>, tensor<64x32xf4E2M1FN>, tensor<f32>) {
  %h = blockscale.hadamard %x dim 0 : tensor<32x64xbf16>
  %a = blockscale.amax %x : tensor<32x64xbf16> -> tensor<f32>
  %b = blockscale.amax %h : tensor<32x64xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<32x64xbf16> -> tensor<64x32xf4E2M1FN>, tensor<64x2xf8E4M3FN>
  return %q, %p, %b : tensor<32x64xf4E2M1FN>, tensor<64x32xf4E2M1FN>, tensor<f32>
}

// -----

// Members of a group share their code, and take their scales from memory.
// CHECK-LABEL: func.func @members
// CHECK-NOT: amax_parts
func.func @members(%x: tensor<32x64xbf16>, %y: tensor<48x64xbf16>) -> (tensor<32x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>) {
  %a = blockscale.amax %x : tensor<32x64xbf16> -> tensor<f32>
  %b = blockscale.amax %y : tensor<48x64xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [16, 16] recipe te global_amax(%a : tensor<f32>) {blockscale.group = "g"} : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<2x4xf8E4M3FN>
  %p, %t = blockscale.quantize %y block [16, 16] recipe te global_amax(%b : tensor<f32>) {blockscale.group = "g"} : tensor<48x64xbf16> -> tensor<48x64xf4E2M1FN>, tensor<3x4xf8E4M3FN>
  return %q, %p : tensor<32x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>
}
