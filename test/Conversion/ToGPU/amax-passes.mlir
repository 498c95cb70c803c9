// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

// Amaxes of x and of its transform beside both quantizations: a thread has the bits of
// both, or zeros where its warp has no elements, and a CTA raises each once.
// Those of x follow from the amaxes of its rows, those of the transform from columns.
// CHECK: gpu.func @clear_f32_x2(
// CHECK-COUNT-2: llvm.store %cst, {{.+}} : f32, !llvm.ptr<1>
// CHECK: llvm.mlir.global internal @[[NAME:quantize_1x16_e2m1_torchao_bf16_k128_and_rht7_quantize_16x1_e2m1_torchao_bf16_k128_transposed_and_amax_and_rht7_amax]]_partial() {{.+}} : !llvm.array<8 x i32>
// CHECK: gpu.func @[[NAME]](
// CHECK: %[[BITS:.+]]:2 = scf.if %{{.+}} -> (i32, i32) {
// CHECK-COUNT-16: llvm.load {{.+}} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.bitcast %{{.+}} : f32 to i32
// CHECK: scf.yield
// CHECK: } else {
// CHECK-NEXT: scf.yield %c0_i32, %c0_i32 : i32, i32
// CHECK: %[[M:.+]] = nvvm.redux.sync umax %[[BITS]]#0
// CHECK: %[[N:.+]] = nvvm.redux.sync umax %[[BITS]]#1
// CHECK: llvm.store %[[M]], {{.+}} : i32, !llvm.ptr<3>
// CHECK: llvm.store %[[N]], {{.+}} : i32, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK-COUNT-2: llvm.atomicrmw umax {{.+}} syncscope("device") monotonic
// CHECK-NOT: llvm.atomicrmw
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return

// Amaxes alone, of the tensor and of each matrix.
// CHECK: gpu.func @amax_each_and_rht7_amax_bf16_k128_batched(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[A:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 4 : i64}, %[[B:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: i64, %[[MATRICES:[a-z0-9]+]]: i64)
// CHECK: %[[COUNT:.+]] = arith.index_cast %[[MATRICES]]
// CHECK: arith.cmpi ult, %[[MATRIX:.+]], %[[COUNT]]
// CHECK: %[[OF:.+]] = arith.index_cast %[[MATRIX]] : index to i64
// CHECK: %[[ADDRESS:.+]] = llvm.getelementptr %[[A]][%[[OF]]]
// CHECK: llvm.atomicrmw umax %[[ADDRESS]]
// CHECK: llvm.atomicrmw umax %[[B]]
// CHECK: gpu.return

// CHECK-LABEL: func.func @one_pass
// CHECK: gpu.launch_func @blockscale_kernels::@clear_f32_x2 blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1) args(%[[A:[0-9]+]] : !llvm.ptr<1>, %c1_i64 : i64, %[[B:[0-9]+]] : !llvm.ptr<1>, %c1_i64 : i64)
// CHECK: gpu.launch_func @blockscale_kernels::@[[NAME]] {{.+}} %[[A]] : !llvm.ptr<1>, %[[B]] : !llvm.ptr<1>, %c64_i64 : i64)
// CHECK-NOT: gpu.launch_func
func.func @one_pass(%x: memref<64x128xbf16>, %q: memref<64x64xi8>, %s: memref<64x8xf8E4M3FN>, %p: memref<128x32xi8>, %t: memref<128x4xf8E4M3FN>, %a: memref<f32>, %b: memref<f32>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%a, %q, %s, %p, %t, %b : memref<f32>, memref<64x64xi8>, memref<64x8xf8E4M3FN>, memref<128x32xi8>, memref<128x4xf8E4M3FN>, memref<f32>) {
  ^bb0(%lx: tensor<64x128xbf16>, %la: tensor<f32>, %lq: tensor<64x128xf4E2M1FN>, %ls: tensor<64x8xf8E4M3FN>, %lp: tensor<128x64xf4E2M1FN>, %lt: tensor<128x4xf8E4M3FN>, %lb: tensor<f32>):
    %i = blockscale.amax %lx : tensor<64x128xbf16> -> tensor<f32>
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
    %h = blockscale.hadamard %lx dim 0 sign_mask 7 : tensor<64x128xbf16>
    %2, %3 = blockscale.quantize %h block [16, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    %j = blockscale.amax %h : tensor<64x128xbf16> -> tensor<f32>
    blockscale.yield %i, %0, %1, %2, %3, %j : tensor<f32>, tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>, tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>, tensor<f32>
  }
  return
}

// Zeros for as many matrices as there are.
// CHECK-LABEL: func.func @amaxes
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x64x128xbf16>
// CHECK: %[[N:.+]] = memref.dim %[[X]], %c0
// CHECK: %[[MOST:.+]] = arith.maxui %[[N]], %c1
// CHECK: %[[BLOCKS:.+]] = arith.ceildivui %[[MOST]], %c128
// CHECK: gpu.launch_func @blockscale_kernels::@clear_f32_x2 blocks in (%[[BLOCKS]],
// CHECK: gpu.launch_func @blockscale_kernels::@amax_each_and_rht7_amax_bf16_k128_batched
func.func @amaxes(%x: memref<?x64x128xbf16>, %a: memref<?xf32>, %b: memref<f32>) {
  blockscale.kernel ins(%x : memref<?x64x128xbf16>) outs(%a, %b : memref<?xf32>, memref<f32>) {
  ^bb0(%lx: tensor<?x64x128xbf16>, %la: tensor<?xf32>, %lb: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<?x64x128xbf16> -> tensor<?xf32>
    %h = blockscale.hadamard %lx dim 0 sign_mask 7 : tensor<?x64x128xbf16>
    %1 = blockscale.amax %h : tensor<?x64x128xbf16> -> tensor<f32>
    blockscale.yield %0, %1 : tensor<?xf32>, tensor<f32>
  }
  return
}
