// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_80}))' -split-input-file 2>/dev/null | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_80}))' -split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels))' -split-input-file | FileCheck %s --check-prefix=CPU
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_80 fuse=false}))' -split-input-file 2>/dev/null | FileCheck %s --check-prefix=APART

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// A norm and what quantizes it are one kernel. What starts and shapes the tensors
// within is made anew in it, and sizes are those of inputs. The sum of x and y, which is
// used elsewhere, is a result of the kernel. On the CPU linalg ops stay as they are.
// Without fusion the norm is a kernel, and what quantizes it is another.
// APART-LABEL: func.func @norm
// APART: blockscale.kernel
// APART-COUNT-3: linalg.generic
// APART-NOT: blockscale.quantize
// APART: blockscale.kernel
// APART-NEXT: ^bb0
// APART-NEXT: blockscale.quantize
// CHECK-LABEL: func.func @norm
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x128xf32>, %[[Y:[a-z0-9]+]]: tensor<?x128xf32>
// CHECK: %[[E:.+]] = tensor.empty(%{{.+}}) : tensor<?x128xf32>
// CHECK: %[[R:.+]]:3 = blockscale.kernel ins(%[[X]], %[[Y]] : tensor<?x128xf32>, tensor<?x128xf32>) outs(%[[E]], %{{.+}}, %{{.+}} :
// CHECK-NEXT: ^bb0(%[[LX:[a-z0-9]+]]: tensor<?x128xf32>, %[[LY:[a-z0-9]+]]: tensor<?x128xf32>,
// CHECK: tensor.dim %[[LX]]
// CHECK: %[[H:.+]] = linalg.generic {{.+}} ins(%[[LX]], %[[LY]] :
// CHECK: linalg.fill
// CHECK: %[[SUM:.+]] = linalg.generic {{.+}} ins(%[[H]] :
// CHECK: %[[N:.+]] = linalg.generic {{.+}} ins(%[[H]], %[[SUM]] :
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[N]]
// CHECK-NEXT: blockscale.yield %[[H]], %[[Q]], %[[S]]
// CHECK: %[[D:.+]] = tensor.dim %[[E]], %{{.+}}
// CHECK: return %[[R]]#0, %[[R]]#1, %[[D]]
// CPU-LABEL: func.func @norm
// CPU-COUNT-3: linalg.generic
// CPU: blockscale.kernel
func.func @norm(%x: tensor<?x128xf32>, %z: tensor<?x128xf32>) -> (tensor<?x128xf32>, tensor<?x128xf8E4M3FN>, index) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x128xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %d = tensor.empty(%m) : tensor<?x128xf32>
  %h = linalg.generic {indexing_maps = [#element, #element, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %z : tensor<?x128xf32>, tensor<?x128xf32>) outs(%d : tensor<?x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%h : tensor<?x128xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%h, %sum : tensor<?x128xf32>, tensor<?xf32>) outs(%d : tensor<?x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x128xf32>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<?x128xf32> -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
  %n = tensor.dim %h, %c0 : tensor<?x128xf32>
  return %h, %q, %n : tensor<?x128xf32>, tensor<?x128xf8E4M3FN>, index
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// What is normed and not quantized, and a sum on its own, are kernels, too; what is
// no part of one stays apart.
// CHECK-LABEL: func.func @no_quantization
// CHECK: %[[Y:.+]] = blockscale.kernel
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: blockscale.yield
// CHECK: blockscale.kernel
// CHECK: linalg.generic
// CHECK: blockscale.yield
// CHECK-NOT: blockscale.kernel
// CHECK: return %[[Y]]
func.func @no_quantization(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xf32>
  %one = arith.constant 1.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %g = linalg.fill ins(%one : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %other = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%g : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.mulf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %y, %other : tensor<64x128xf32>, tensor<64xf32>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// Blocks of several rows: the kernel takes strips of the rows, where it computes the
// elements again. Without fusion there are two kernels.
// CHECK-LABEL: func.func @tall
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK-NOT: blockscale.kernel
// APART-LABEL: func.func @tall
// APART-COUNT-2: blockscale.kernel
func.func @tall(%x: tensor<64x128xf32>) -> tensor<64x128xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %q, %s = blockscale.quantize %y block [32, 1] : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<2x128xf8E8M0FNU>
  return %q : tensor<64x128xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c1: groups that are padded before.
// CHECK-LABEL: func.func @norm_c1
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.kernel
// CHECK: blockscale.pad_groups
// CHECK: blockscale.quantize
func.func @norm_c1(%x: tensor<64x128xf32>, %ends: tensor<2xi32>) -> tensor<96x128xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %p, %e0 = blockscale.pad_groups %y offsets(%ends : tensor<2xi32>) unit 32 : tensor<64x128xf32> -> tensor<96x128xf32>
  // REMARK: remark: reads x in a kernel of its own (norm_c1): expected x of whole rows that nothing pads, but got 'blockscale.pad_groups'
  %q, %s = blockscale.quantize %p block [32, 1] offsets(%e0 : tensor<2xi32>) : tensor<96x128xf32> -> tensor<96x128xf8E4M3FN>, tensor<3x128xf8E8M0FNU>
  return %q : tensor<96x128xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// Groups of rows, whose scales are in tiles of their own.
// CHECK-LABEL: func.func @groups
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.quantize
// CHECK: blockscale.yield
// CHECK-NOT: blockscale.kernel
func.func @groups(%x: tensor<64x128xf32>, %ends: tensor<2xi32>) -> (tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %q, %s = blockscale.quantize %y block [1, 32] offsets(%ends : tensor<2xi32>) : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>
  return %q, %s : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c2: a length that is known at run time.
// CHECK-LABEL: func.func @norm_c2
// CHECK-NOT: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize
func.func @norm_c2(%x: tensor<64x?xf32>, %d: tensor<64x?xf32>) -> tensor<64x?xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x?xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  // REMARK: remark: has a kernel of its own (norm_c2): expected rows of a static length from 1 to 65536, but got tensor<64x?xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x?xf32>, tensor<64xf32>) outs(%d : tensor<64x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x?xf32>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x?xf32> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
  return %q : tensor<64x?xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c2: a row that is too long.
// CHECK-LABEL: func.func @norm_c2_long
// CHECK-NOT: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize
func.func @norm_c2_long(%x: tensor<1x65568xf32>, %d: tensor<1x65568xf32>) -> tensor<1x65568xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<1x65568xf32>) outs(%f : tensor<1xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<1xf32>
  // REMARK: remark: has a kernel of its own (norm_c2): expected rows of a static length from 1 to 65536, but got tensor<1x65568xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<1x65568xf32>, tensor<1xf32>) outs(%d : tensor<1x65568xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<1x65568xf32>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<1x65568xf32> -> tensor<1x65568xf8E4M3FN>, tensor<1x2049xf8E8M0FNU>
  return %q : tensor<1x65568xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c3: an operand that is transposed. The sum has a kernel of its own.
// CHECK-LABEL: func.func @norm_c3
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.quantize
func.func @norm_c3(%x: tensor<64x64xf32>, %d: tensor<64x64xf32>) -> tensor<64x64xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  // REMARK: remark: has a kernel of its own (norm_c3): expected operands of the elements, rows or columns, but got (d0, d1) -> (d1, d0)
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x64xf32>, tensor<64xf32>) outs(%d : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q : tensor<64x64xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c4: sums in bf16, which have no order of their own.
// CHECK-LABEL: func.func @norm_c4
// CHECK-NOT: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize
func.func @norm_c4(%x: tensor<64x128xbf16>, %d: tensor<64x128xbf16>) -> tensor<64x128xf8E4M3FN> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<64xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<64xbf16>) -> tensor<64xbf16>
  // REMARK: remark: has a kernel of its own (norm_c4): expected a sum, product, maximum or minimum in f32 along rows, from a linalg.fill, but got 'linalg.generic' on bf16
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xbf16>) outs(%f : tensor<64xbf16>) {
  ^bb0(%a: bf16, %r: bf16):
    %0 = arith.addf %r, %a : bf16
    linalg.yield %0 : bf16
  } -> tensor<64xbf16>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xbf16>, tensor<64xbf16>) outs(%d : tensor<64x128xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    linalg.yield %b : bf16
  } -> tensor<64x128xbf16>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return %q : tensor<64x128xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c4: sums onto what memory holds.
// CHECK-LABEL: func.func @norm_c4_init
// CHECK-NOT: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize
func.func @norm_c4_init(%x: tensor<64x128xf32>, %f: tensor<64xf32>) -> tensor<64x128xf8E4M3FN> {
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xf32>
  // REMARK: remark: has a kernel of its own (norm_c4): expected a sum, product, maximum or minimum in f32 along rows, from a linalg.fill, but got another init
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return %q : tensor<64x128xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c4: an op on the elements that reads what was there.
// CHECK-LABEL: func.func @norm_c4_reads
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.quantize
func.func @norm_c4_reads(%x: tensor<64x128xf32>, %d: tensor<64x128xf32>) -> tensor<64x128xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  // REMARK: remark: has a kernel of its own (norm_c4): expected no op but reductions to read an init, but got 'linalg.generic'
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %b, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return %q : tensor<64x128xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c5: a function that no instruction computes.
// CHECK-LABEL: func.func @norm_c5
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.quantize
func.func @norm_c5(%x: tensor<64x128xf32>) -> tensor<64x128xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  // REMARK: remark: has a kernel of its own (norm_c5): expected {{.+}}, but got 'math.erf'
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = math.erf %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return %q : tensor<64x128xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// Rows and columns of a norm, which others need, too.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: %[[K:.+]]:5 = blockscale.kernel
// CHECK: "reduction"
// CHECK: %[[Y:.+]] = linalg.generic
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[Y]] block [1, 32] :
// CHECK: %[[P:.+]], %[[T:.+]] = blockscale.quantize %[[Y]] block [32, 1] transposed :
// CHECK-NEXT: blockscale.yield %[[Y]], %[[Q]], %[[S]], %[[P]], %[[T]]
// CHECK-NOT: blockscale.kernel
func.func @rows_and_columns(%x: tensor<64x128xbf16>) -> (tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>, tensor<64x128xbf16>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xbf16>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: bf16, %r: f32):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.addf %r, %v : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xbf16>, tensor<64xf32>) outs(%d : tensor<64x128xbf16>) {
  ^bb0(%a: bf16, %b: f32, %o: bf16):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.divf %v, %b : f32
    %w = arith.truncf %0 : f32 to bf16
    linalg.yield %w : bf16
  } -> tensor<64x128xbf16>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  %p, %t = blockscale.quantize %y block [32, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
  return %q, %s, %p, %t, %y : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>, tensor<64x128xbf16>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// What several quantizations share is bf16 (one_read_c1).
// CHECK-LABEL: func.func @two_of_f32
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.quantize
func.func @two_of_f32(%x: tensor<64x128xf32>) -> (tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  // REMARK: remark: reads x in a kernel of its own (one_read_c1): expected x of bf16, but got tensor<64x128xf32>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  // REMARK: remark: reads x in a kernel of its own (one_read_c1): expected x of bf16, but got tensor<64x128xf32>
  %p, %t = blockscale.quantize %y block [1, 32] recipe ceil : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return %q, %p : tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c6: an amax of x, which the quantizations do not need, is taken of what memory
// holds, along with these.
// CHECK-LABEL: func.func @norm_c6
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize
// CHECK: blockscale.quantize
// CHECK: blockscale.amax
// CHECK-NOT: blockscale.kernel
func.func @norm_c6(%x: tensor<64x128xbf16>) -> (tensor<64x128xf8E4M3FN>, tensor<128x64xf8E4M3FN>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xbf16>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: bf16, %r: f32):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.addf %r, %v : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xbf16>, tensor<64xf32>) outs(%d : tensor<64x128xbf16>) {
  ^bb0(%a: bf16, %b: f32, %o: bf16):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.divf %v, %b : f32
    %w = arith.truncf %0 : f32 to bf16
    linalg.yield %w : bf16
  } -> tensor<64x128xbf16>
  // REMARK: remark: reads x in a kernel of its own (norm_c6): expected no amax and no transform of x, but got 'blockscale.amax'
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  // REMARK: remark: reads x in a kernel of its own (norm_c6): expected no amax and no transform of x, but got 'blockscale.amax'
  %p, %t = blockscale.quantize %y block [32, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
  %m = blockscale.amax %y : tensor<64x128xbf16> -> tensor<f32>
  return %q, %p, %m : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E4M3FN>, tensor<f32>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c6: members of a tensor group have a kernel together.
// CHECK-LABEL: func.func @norm_c6_group
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize
func.func @norm_c6_group(%x: tensor<64x128xbf16>) -> tensor<128x64xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xbf16>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: bf16, %r: f32):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.addf %r, %v : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xbf16>, tensor<64xf32>) outs(%d : tensor<64x128xbf16>) {
  ^bb0(%a: bf16, %b: f32, %o: bf16):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.divf %v, %b : f32
    %w = arith.truncf %0 : f32 to bf16
    linalg.yield %w : bf16
  } -> tensor<64x128xbf16>
  // REMARK: remark: reads x in a kernel of its own (norm_c6): expected no tensor group, but got "experts"
  %p, %t = blockscale.quantize %y block [32, 1] transposed {blockscale.group = "experts"} : tensor<64x128xbf16> -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
  return %p : tensor<128x64xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c8: an op with two results, one of which is quantized.
// CHECK-LABEL: func.func @norm_c8
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize
func.func @norm_c8(%x: tensor<64x128xbf16>) -> (tensor<128x64xf8E4M3FN>, tensor<64x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xbf16>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: bf16, %r: f32):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.addf %r, %v : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %n = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xbf16>, tensor<64xf32>) outs(%d : tensor<64x128xbf16>) {
  ^bb0(%a: bf16, %b: f32, %o: bf16):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.divf %v, %b : f32
    %w = arith.truncf %0 : f32 to bf16
    linalg.yield %w : bf16
  } -> tensor<64x128xbf16>
  %g = tensor.empty() : tensor<64x128xf32>
  %y:2 = linalg.generic {indexing_maps = [#element, #element, #element], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<64x128xbf16>) outs(%d, %g : tensor<64x128xbf16>, tensor<64x128xf32>) {
  ^bb0(%a: bf16, %o: bf16, %i: f32):
    %v = arith.extf %a : bf16 to f32
    linalg.yield %a, %v : bf16, f32
  } -> (tensor<64x128xbf16>, tensor<64x128xf32>)
  // REMARK: remark: reads x in a kernel of its own (norm_c8): expected an elementwise op with one result and parallel loops, but got 2 results
  %p, %t = blockscale.quantize %y#0 block [32, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
  return %p, %y#1 : tensor<128x64xf8E4M3FN>, tensor<64x128xf32>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c9: two strips of rows would be computed by two multiprocessors of the GPU.
// CHECK-LABEL: func.func @norm_c9
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize
func.func @norm_c9(%x: tensor<128x8192xbf16>) -> tensor<8192x128xf8E4M3FN> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128xf32>
  %d = tensor.empty() : tensor<128x8192xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128xf32>) -> tensor<128xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<128x8192xbf16>) outs(%f : tensor<128xf32>) {
  ^bb0(%a: bf16, %r: f32):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.addf %r, %v : f32
    linalg.yield %0 : f32
  } -> tensor<128xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<128x8192xbf16>, tensor<128xf32>) outs(%d : tensor<128x8192xbf16>) {
  ^bb0(%a: bf16, %b: f32, %o: bf16):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.divf %v, %b : f32
    %w = arith.truncf %0 : f32 to bf16
    linalg.yield %w : bf16
  } -> tensor<128x8192xbf16>
  // REMARK: remark: reads x in a kernel of its own (norm_c9): expected one kernel to be estimated to take at most the {{[0-9]+}} ns of several, but got {{[0-9]+}} ns
  %p, %t = blockscale.quantize %y block [32, 1] transposed : tensor<128x8192xbf16> -> tensor<8192x128xf8E4M3FN>, tensor<8192x4xf8E8M0FNU>
  return %p : tensor<8192x128xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// A dequantization of rows that are quantized among others is a kernel (round_trip_c4).
// CHECK-LABEL: func.func @round_trip
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.quantize
// CHECK: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK: blockscale.dequantize
func.func @round_trip(%x: tensor<64x128xbf16>) -> (tensor<64x128xbf16>, tensor<128x64xf8E4M3FN>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xbf16>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: bf16, %r: f32):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.addf %r, %v : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xbf16>, tensor<64xf32>) outs(%d : tensor<64x128xbf16>) {
  ^bb0(%a: bf16, %b: f32, %o: bf16):
    %v = arith.extf %a : bf16 to f32
    %0 = arith.divf %v, %b : f32
    %w = arith.truncf %0 : f32 to bf16
    linalg.yield %w : bf16
  } -> tensor<64x128xbf16>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  %p, %t = blockscale.quantize %y block [32, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
  // REMARK: remark: is not computed where x is quantized (round_trip_c4): expected a kernel that quantizes x once, in its rows, but got 2 quantizations
  %v = blockscale.dequantize %q, %s block [1, 32] : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU> -> tensor<64x128xbf16>
  return %v, %p : tensor<64x128xbf16>, tensor<128x64xf8E4M3FN>
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// norm_c7: the norm is needed, in another function, before it is quantized.
// CHECK-LABEL: func.func @norm_c7
// CHECK: blockscale.kernel
// CHECK: "reduction"
// CHECK: blockscale.yield
// CHECK: blockscale.quantize
func.func @norm_c7(%x: tensor<64x128xf32>) -> (tensor<64x128xf8E4M3FN>, tensor<64x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %g = call @g(%y) : (tensor<64x128xf32>) -> tensor<64x128xf32>
  // REMARK: remark: reads x in a kernel of its own (norm_c7): expected what it computes to be used after it
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return %q, %g : tensor<64x128xf8E4M3FN>, tensor<64x128xf32>
}

func.func private @g(tensor<64x128xf32>) -> tensor<64x128xf32>

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// A norm that is needed, in another function, before the sum that the next norm begins with, is a
// kernel, and the sum is one with the next norm.
// CHECK-LABEL: func.func @residual
// CHECK: %[[Y:.+]] = blockscale.kernel ins(%{{.+}} : tensor<64x128xf32>)
// CHECK: "reduction"
// CHECK: arith.divf
// CHECK: blockscale.yield
// CHECK: %[[G:.+]] = call @g(%[[Y]])
// CHECK-NOT: linalg.generic
// CHECK: blockscale.kernel ins(%[[Y]], %[[G]] : tensor<64x128xf32>, tensor<64x128xf32>)
// CHECK: arith.addf
// CHECK: "reduction"
// CHECK: arith.divf
// CHECK: blockscale.yield
// CHECK-NOT: blockscale.kernel
// CHECK: return
func.func @residual(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %d = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %g = call @g(%y) : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %h = linalg.generic {indexing_maps = [#element, #element, #element], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<64x128xf32>, tensor<64x128xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %next = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%h : tensor<64x128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %z = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%h, %next : tensor<64x128xf32>, tensor<64xf32>) outs(%d : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  return %z : tensor<64x128xf32>
}

func.func private @g(tensor<64x128xf32>) -> tensor<64x128xf32>
