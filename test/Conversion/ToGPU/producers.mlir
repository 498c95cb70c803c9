// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a -split-input-file -verify-diagnostics | FileCheck %s

// Rows of x are computed from inputs in accesses as wide as those of x would be; a pair of
// bf16 is rounded at once. One kernel, whose arguments after the sizes are the inputs.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k4096_of_mulf_sm90(
// CHECK-SAME: %{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 1 : i64}, %{{.+}}: i64, %[[A:.+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[W:.+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[R:.+]]: !llvm.ptr<1> {llvm.align = 4 : i64})
// CHECK-DAG: %[[PA:.+]] = llvm.getelementptr %[[A]][%{{.+}}] : {{.*}} bf16
// CHECK-DAG: llvm.load %[[PA]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-DAG: %[[PW:.+]] = llvm.getelementptr %[[W]][%{{.+}}] : {{.*}} f32
// CHECK-DAG: llvm.load %[[PW]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-DAG: %[[PR:.+]] = llvm.getelementptr %[[R]][%{{.+}}] : {{.*}} i32
// CHECK-DAG: llvm.load %[[PR]] {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: arith.mulf %{{.+}}, %{{.+}} : vector<2xf32>
// CHECK: arith.truncf %{{.+}} : vector<2xf32> to vector<2xbf16>
// CHECK-NOT: gpu.func
// CHECK-LABEL: func.func @scaled
// CHECK-COUNT-1: gpu.launch_func
// CHECK-NOT: gpu.launch_func
#id = affine_map<(i, j) -> (i, j)>
func.func @scaled(%a: tensor<?x4096xbf16>, %w: tensor<4096xf32>, %r: tensor<?xf32>) -> (tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%m) : tensor<?x4096xbf16>
  %x = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %w, %r : tensor<?x4096xbf16>, tensor<4096xf32>, tensor<?xf32>) outs(%e : tensor<?x4096xbf16>) {
  ^bb0(%b: bf16, %s: f32, %t: f32, %o: bf16):
    %0 = arith.extf %b : bf16 to f32
    %1 = arith.mulf %0, %s : f32
    %2 = arith.mulf %1, %t : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<?x4096xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
}

// -----

// Rows and columns of a sum are one kernel, which evaluates it once. Two sums of other
// constants are other kernels.
// CHECK-LABEL: gpu.func @quantize_1x32_e4m3_rceil_bf16_k64_and_quantize_32x1_e4m3_rceil_bf16_k64_transposed_of_
// CHECK-COUNT-64: arith.addf %{{.+}}, %{{.+}} : vector<2xf32>
// CHECK-NOT: arith.addf %{{.+}}, %{{.+}} : vector<2xf32>
// CHECK: gpu.return
func.func @rows_and_columns(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> (tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) {
  %x = arith.addf %a, %b : tensor<64x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %p, %t = blockscale.quantize %x block [32, 1] transposed recipe rceil : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q, %s, %p, %t : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
}

// -----

// A sum that others need, too, is stored where it is computed: by the thread that has it,
// if it has it.
// CHECK-LABEL: gpu.func @quantize_32x32_e4m3_rceil_bf16_k64_of_{{[a-z_]+}}_sm90(
// CHECK-SAME: %{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[KEPT:.+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: !llvm.ptr<1>
// CHECK: %[[PLACE:.+]] = llvm.getelementptr %[[KEPT]]
// CHECK: scf.if %{{.+}} {
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
func.func @kept(%a: tensor<?x64xbf16>, %b: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %x = arith.addf %a, %b : tensor<?x64xbf16>
  %q, %s = blockscale.quantize %x block [32, 32] recipe rceil : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %x, %q, %s : tensor<?x64xbf16>, tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// Kernels of one name do the same: constants count.
// CHECK-LABEL: gpu.module
// CHECK: gpu.func @[[ONE:quantize_[a-z0-9_]+]](
// CHECK: gpu.func @[[TWO:quantize_[a-z0-9_]+]](
// CHECK-NOT: gpu.func
// CHECK-LABEL: func.func @constants
// CHECK: gpu.launch_func @blockscale_kernels::@[[ONE]]
// CHECK: gpu.launch_func @blockscale_kernels::@[[TWO]]
// CHECK: gpu.launch_func @blockscale_kernels::@[[TWO]]
func.func @constants(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) {
  %half = arith.constant dense<0.5> : tensor<64x64xbf16>
  %two = arith.constant dense<2.0> : tensor<64x64xbf16>
  %x = arith.mulf %a, %two : tensor<64x64xbf16>
  %y = arith.mulf %a, %half : tensor<64x64xbf16>
  %z = arith.mulf %b, %half : tensor<64x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %p, %t = blockscale.quantize %y block [1, 32] recipe rceil : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %r, %u = blockscale.quantize %z block [1, 32] recipe rceil : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %q, %p, %r : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>
}

// -----

// An op on its own: a thread has 16 bytes of the result. Sizes that types do not tell must
// agree.
// CHECK-LABEL: gpu.func @elementwise_bf16_by8_of_
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>
// CHECK-LABEL: func.func @alone
// CHECK: cf.assert %{{.+}}, "expected inputs of an elementwise op to have the sizes of its result"
// CHECK: gpu.launch_func
func.func @alone(%a: tensor<?x64xbf16>, %b: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %x = arith.addf %a, %b : tensor<?x64xbf16>
  return %x : tensor<?x64xbf16>
}

// -----

// An op that is not elementwise has a plain kernel.
// CHECK-LABEL: gpu.func @plain_matmul_f32(
// CHECK-LABEL: func.func @not_elementwise
// CHECK: gpu.launch_func @blockscale_kernels::@plain_matmul_f32
func.func @not_elementwise(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %x = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %x : tensor<64x64xf32>
}

// -----

// The rounded product of two bf16 is one operation on pairs of them. That of an f32 is
// not, and neither is what is rounded after a sum.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k64_of_{{[a-z_]+}}_sm90(
// CHECK-SAME: nvvm.minctasm = {{[1-9]}} : i32
// CHECK: %[[P:.+]] = llvm.call_intrinsic "llvm.nvvm.fma.rn.bf16x2"(%{{.+}}, %{{.+}}, %[[ZERO:.+]]) : (vector<2xbf16>, vector<2xbf16>, vector<2xbf16>)
// CHECK: arith.addf {{.+}} : vector<2xf32>
// CHECK: arith.truncf %{{.+}} : vector<2xf32> to vector<2xbf16>
// CHECK: arith.mulf {{.+}} : vector<2xf32>
// CHECK: arith.truncf %{{.+}} : vector<2xf32> to vector<2xbf16>
// CHECK: llvm.call_intrinsic "llvm.nvvm.fma.rn.bf16x2"
// CHECK-LABEL: func.func @products
#id = affine_map<(i, j) -> (i, j)>
func.func @products(%a: tensor<?x64xbf16>, %b: tensor<?x64xbf16>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %x = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<?x64xbf16>, tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {
  ^bb0(%c: bf16, %d: bf16, %o: bf16):
    %0 = arith.extf %c : bf16 to f32
    %1 = arith.extf %d : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    %4 = arith.extf %3 : bf16 to f32
    %5 = arith.addf %4, %0 : f32
    %6 = arith.truncf %5 : f32 to bf16
    %7 = arith.extf %6 : bf16 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = arith.truncf %8 : f32 to bf16
    linalg.yield %9 : bf16
  } -> tensor<?x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// Where instructions take longer than memory, registers are kept for as many thread
// blocks as what a thread loads of both inputs has room for, 32 words and 24 more.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k64_of_{{[a-z_]+}}_sm90(
// CHECK-SAME: nvvm.minctasm = 9 : i32
// CHECK-LABEL: func.func @instructions
#id = affine_map<(i, j) -> (i, j)>
func.func @instructions(%a: tensor<?x64xbf16>, %b: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %x = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<?x64xbf16>, tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {
  ^bb0(%c: bf16, %d: bf16, %o: bf16):
    %0 = arith.extf %c : bf16 to f32
    %1 = arith.extf %d : bf16 to f32
    %2 = arith.negf %0 : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %one : f32
    %5 = arith.divf %0, %4 : f32
    %6 = arith.mulf %5, %1 : f32
    %7 = arith.truncf %6 : f32 to bf16
    linalg.yield %7 : bf16
  } -> tensor<?x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %q, %s : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
}
