// Which form kernels of several ops have, by estimates for the chip's GPU, and what each
// was estimated to take: in the IR and as remarks.

// RUN: blockscale-opt %s -split-input-file --remarks-filter-analyse=gpu-fusion -pass-pipeline="builtin.module(blockscale-expand-math,func.func(blockscale-form-kernels{chip=sm_100a}))" 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: blockscale-opt %s -split-input-file --remarks-filter-analyse=gpu-fusion -pass-pipeline="builtin.module(blockscale-expand-math,func.func(blockscale-form-kernels{chip=sm_100a dynamic-sizes=8192}))" 2>/dev/null | FileCheck %s --check-prefix=ASSUMED
// RUN: blockscale-opt %s -split-input-file --remarks-filter-analyse=gpu-fusion -pass-pipeline="builtin.module(blockscale-expand-math,func.func(blockscale-form-kernels{chip=sm_100a recompute=never}))" 2>%t.never | FileCheck %s --check-prefix=NEVER
// RUN: FileCheck %s --check-prefix=NEVER-REMARK --input-file=%t.never
// RUN: blockscale-opt %s -split-input-file --remarks-filter-analyse=gpu-fusion -pass-pipeline="builtin.module(blockscale-expand-math,func.func(blockscale-form-kernels{chip=sm_100a recompute=always}))" 2>/dev/null | FileCheck %s --check-prefix=ALWAYS
// RUN: blockscale-opt %s -split-input-file --remarks-filter-analyse=gpu-fusion -pass-pipeline="builtin.module(blockscale-expand-math,func.func(blockscale-form-kernels{chip=sm_100a fuse=false}))" 2>&1 | FileCheck %s --check-prefix=APART --implicit-check-not=blockscale.fusion --implicit-check-not=gpu-fusion

// The attribute stays where tensors become what memory holds, and memrefs.
// RUN: blockscale-opt %s -split-input-file --blockscale-to-sm100=to=bufferize 2>/dev/null | FileCheck %s --check-prefix=LATER

#id = affine_map<(i, j) -> (i, j)>

// Rows, and columns of a transform, of one x: 2 bytes read and 1.125 written an element
// rather than 2.5625 thrice.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: blockscale.kernel
// CHECK-SAME: blockscale.fusion = {apart = {bytes = 306184192 : i64, launches = 3 : i64, ns = 43378 : i64}, form = "together", together = {bytes = 104857600 : i64, launches = 1 : i64, ns = 25696 : i64}}
// CHECK-NOT: blockscale.kernel
// REMARK: [[#@LINE+6]]:{{.*}} fusion | Category:gpu-fusion{{.*}}"quantize + hadamard + quantize: together, what its ops share is read once, and what they make for each other is not moved; together: 104857600 bytes, 1 launches, 25.696 us on B200; apart: 306184192 bytes, 3 launches, 43.378 us on B200"
// LATER-LABEL: func.func @rows_and_columns
// LATER: blockscale.kernel {{.*}} attributes {blockscale.fusion = {apart = {bytes = 306184192
// APART-LABEL: func.func @rows_and_columns
// APART-COUNT-3: blockscale.kernel
func.func @rows_and_columns(%x: tensor<8192x4096xbf16>) -> (tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>, tensor<4096x8192xf4E2M1FN>, tensor<4096x512xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<8192x4096xbf16> -> tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 : tensor<8192x4096xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<8192x4096xbf16> -> tensor<4096x8192xf4E2M1FN>, tensor<4096x512xf8E4M3FN>
  return %q, %s, %p, %t : tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>, tensor<4096x8192xf4E2M1FN>, tensor<4096x512xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// What the amax and the quantization that needs it both take is cheap: each kernel
// computes it, and no memory holds it. Asked to, the first one keeps it.
// CHECK-LABEL: func.func @squared_relu
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<8192x4096xbf16>
// CHECK: %[[G:.+]] = blockscale.kernel ins(%[[A]] : tensor<8192x4096xbf16>) outs(
// CHECK-SAME: form = "recomputed"
// CHECK: linalg.generic
// CHECK: blockscale.amax
// CHECK: blockscale.kernel ins(%[[A]], %[[G]] : tensor<8192x4096xbf16>, tensor<f32>) outs(
// CHECK-SAME: form = "recomputed"
// CHECK: linalg.generic
// CHECK: blockscale.quantize
// CHECK-NOT: blockscale.kernel
// NEVER-LABEL: func.func @squared_relu
// NEVER: %[[K:.+]]:2 = blockscale.kernel
// NEVER-SAME: form = "kept"
// NEVER: linalg.generic
// NEVER: blockscale.kernel ins(%[[K]]#0, %[[K]]#1
// NEVER-NOT: linalg.generic
// NEVER: return
// NEVER-REMARK: generic + amax: kept, the first pass stores x for the second (option recompute); kept:
// APART-LABEL: func.func @squared_relu
// APART-COUNT-3: blockscale.kernel
func.func @squared_relu(%a: tensor<8192x4096xbf16>) -> (tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8192x4096xbf16>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8192x4096xbf16>) outs(%e : tensor<8192x4096xbf16>) {
  ^bb0(%b: bf16, %o: bf16):
    %0 = arith.extf %b : bf16 to f32
    %1 = arith.maximumf %0, %zero : f32
    %2 = arith.mulf %1, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<8192x4096xbf16>
  %g = blockscale.amax %x : tensor<8192x4096xbf16> -> tensor<f32>
  // REMARK: "generic + amax: recomputed, both passes compute x, which no memory holds; kept:
  // REMARK: "generic + quantize: recomputed,
  %q, %s = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<f32>) : tensor<8192x4096xbf16> -> tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>
  return %q, %s : tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// An exponential and a division are not: they take longer than the bytes that computing
// them again saves.
// CHECK-LABEL: func.func @silu
// CHECK: %[[K:.+]]:2 = blockscale.kernel
// CHECK-SAME: form = "kept"
// CHECK: linalg.generic
// CHECK: blockscale.amax
// CHECK: blockscale.kernel ins(%[[K]]#0, %[[K]]#1
// CHECK-NOT: linalg.generic
// CHECK: return
// REMARK: "generic + amax: kept, the first pass stores x for the second; kept:
// ALWAYS-LABEL: func.func @silu
// ALWAYS-COUNT-2: form = "recomputed"
func.func @silu(%a: tensor<8192x4096xbf16>) -> (tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>) {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8192x4096xbf16>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8192x4096xbf16>) outs(%e : tensor<8192x4096xbf16>) {
  ^bb0(%b: bf16, %o: bf16):
    %0 = arith.extf %b : bf16 to f32
    %1 = arith.negf %0 : f32
    %2 = math.exp %1 : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.divf %0, %3 : f32
    %5 = arith.truncf %4 : f32 to bf16
    linalg.yield %5 : bf16
  } -> tensor<8192x4096xbf16>
  %g = blockscale.amax %x : tensor<8192x4096xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<f32>) : tensor<8192x4096xbf16> -> tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>
  return %q, %s : tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Where launches are all that counts, nothing is gained.
// CHECK-LABEL: func.func @small
// CHECK: blockscale.kernel
// CHECK-SAME: form = "kept", kept = {bytes = {{[0-9]+}} : i64, launches = 2 : i64, ns = 4000 : i64}, recomputed = {bytes = {{[0-9]+}} : i64, launches = 2 : i64, ns = 4000 : i64}}
func.func @small(%a: tensor<64x64xbf16>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>) {
  %e = tensor.empty() : tensor<64x64xbf16>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<64x64xbf16>) outs(%e : tensor<64x64xbf16>) {
  ^bb0(%b: bf16, %o: bf16):
    linalg.yield %b : bf16
  } -> tensor<64x64xbf16>
  %g = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<f32>) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q, %s : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Without sizes there is no estimate, and what might be computed twice is kept; sizes may
// be assumed. y, which others need too, is kept by the first pass.
// CHECK-LABEL: func.func @dynamic
// CHECK: blockscale.kernel {{.*}} attributes {blockscale.fusion = {form = "kept"}} {
// CHECK: blockscale.amax
// CHECK: blockscale.kernel {{.*}} attributes {blockscale.fusion = {form = "kept"}} {
// REMARK: "generic + generic + amax_parts: kept, the first pass stores x for the second; without an estimate: expected static sizes, or assumed ones (dynamic-sizes), but got 'tensor<?x4096xbf16>'"
// ASSUMED-LABEL: func.func @dynamic
// ASSUMED: blockscale.kernel
// ASSUMED-SAME: form = "recomputed"
// ASSUMED: linalg.generic
// ASSUMED: linalg.generic
// ASSUMED: blockscale.amax
// ASSUMED: blockscale.kernel
// ASSUMED-SAME: form = "recomputed"
// ASSUMED: linalg.generic
// ASSUMED: blockscale.quantize
// ASSUMED: blockscale.quantize
// ASSUMED: blockscale.yield
func.func @dynamic(%a: tensor<?x4096xbf16>) -> (tensor<?x4096xbf16>, tensor<?x4096xf4E2M1FN>, tensor<?x4096xf4E2M1FN>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%m) : tensor<?x4096xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x4096xbf16>) outs(%e : tensor<?x4096xbf16>) {
  ^bb0(%b: bf16, %o: bf16):
    %0 = arith.extf %b : bf16 to f32
    %1 = arith.maximumf %0, %zero : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<?x4096xbf16>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x4096xbf16>) outs(%e : tensor<?x4096xbf16>) {
  ^bb0(%b: bf16, %o: bf16):
    %0 = arith.extf %b : bf16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<?x4096xbf16>
  %g = blockscale.amax %x : tensor<?x4096xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<f32>) : tensor<?x4096xbf16> -> tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN>
  %p, %t = blockscale.quantize %x block [16, 16] global_amax(%g : tensor<f32>) : tensor<?x4096xbf16> -> tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN>
  return %y, %q, %p : tensor<?x4096xbf16>, tensor<?x4096xf4E2M1FN>, tensor<?x4096xf4E2M1FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A norm and what quantizes it: apart, the norm is one kernel, too.
// CHECK-LABEL: func.func @norm
// CHECK: blockscale.kernel
// CHECK-SAME: blockscale.fusion = {apart = {bytes = 303038464 : i64, launches = 2 : i64, ns = 42932 : i64}, form = "together", together = {bytes = 168820736 : i64, launches = 1 : i64, ns = 23917 : i64}}
// REMARK: "generic + generic + quantize: together,
func.func @norm(%x: tensor<8192x4096xf32>) -> (tensor<8192x4096xf8E4M3FN>, tensor<8192x128xf8E8M0FNU>) {
  %zero = arith.constant 0.0 : f32
  %v = tensor.empty() : tensor<8192xf32>
  %f = linalg.fill ins(%zero : f32) outs(%v : tensor<8192xf32>) -> tensor<8192xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8192x4096xf32>) outs(%f : tensor<8192xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %b, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8192xf32>
  %e = tensor.empty() : tensor<8192x4096xbf16>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<8192x4096xf32>, tensor<8192xf32>) outs(%e : tensor<8192x4096xbf16>) {
  ^bb0(%a: f32, %b: f32, %c: bf16):
    %0 = arith.divf %a, %b : f32
    %1 = arith.truncf %0 : f32 to bf16
    linalg.yield %1 : bf16
  } -> tensor<8192x4096xbf16>
  %q, %s = blockscale.quantize %y block [1, 32] : tensor<8192x4096xbf16> -> tensor<8192x4096xf8E4M3FN>, tensor<8192x128xf8E8M0FNU>
  return %q, %s : tensor<8192x4096xf8E4M3FN>, tensor<8192x128xf8E8M0FNU>
}
