// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize | FileCheck %s

// The block is loaded once; what candidates are comes from shared memory. One
// loop tries all of them, or one goes up, three at a time, and one down. Only the
// first divides, and the second does not clamp.
// CHECK: llvm.mlir.global internal @scale_sweep_bf16_candidates() {addr_space = 3 : i32, alignment = 16 : i64{{.*}}} : !llvm.array<512 x f32>
// CHECK: gpu.func @scale_sweep_bf16(
// CHECK: gpu.barrier
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: llvm.load %{{.+}} : !llvm.ptr<1>
// CHECK: scf.while
// CHECK-COUNT-16: arith.divf
// CHECK: scf.while
// CHECK-NOT: minnum
// CHECK-COUNT-3: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-NOT: arith.divf
// CHECK: scf.while
// CHECK: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-NOT: arith.divf
// CHECK-COUNT-16: minnum
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// Under a Hessian there is one loop, over all candidates.
// CHECK: llvm.mlir.global internal @scale_sweep_f32_weighed_each_hessian()
// CHECK: gpu.func @scale_sweep_f32_weighed_each(
// CHECK: gpu.barrier
// CHECK: scf.while
// CHECK-NOT: scf.while

// CHECK-LABEL: func.func @sweep
func.func @sweep(%x: memref<2x20x64xbf16>, %g: memref<f32>, %b: memref<2x20x4xf32>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@scale_sweep_bf16 blocks in (%c2, %c1, %c1) threads in (%c128, %c1, %c1)
  blockscale.kernel ins(%x, %g : memref<2x20x64xbf16>, memref<f32>) outs(%b : memref<2x20x4xf32>) {
  ^bb0(%lx: tensor<2x20x64xbf16>, %lg: tensor<f32>, %lb: tensor<2x20x4xf32>):
    %0 = blockscale.scale_sweep %lx global_amax(%lg : tensor<f32>) : tensor<2x20x64xbf16> -> tensor<2x20x4xf32>
    blockscale.yield %0 : tensor<2x20x4xf32>
  }
  return
}

// Thread blocks have blocks of one column, whose Hessian they share.
// CHECK-LABEL: func.func @weighed
func.func @weighed(%x: memref<2x130x64xf32>, %g: memref<2xf32>, %h: memref<4x16x16xf32>, %b: memref<2x130x4xf32>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@scale_sweep_f32_weighed_each blocks in (%c8, %c2, %c1)
  blockscale.kernel ins(%x, %g, %h : memref<2x130x64xf32>, memref<2xf32>, memref<4x16x16xf32>) outs(%b : memref<2x130x4xf32>) {
  ^bb0(%lx: tensor<2x130x64xf32>, %lg: tensor<2xf32>, %lh: tensor<4x16x16xf32>, %lb: tensor<2x130x4xf32>):
    %0 = blockscale.scale_sweep %lx global_amax(%lg : tensor<2xf32>) hessian(%lh : tensor<4x16x16xf32>) : tensor<2x130x64xf32> -> tensor<2x130x4xf32>
    blockscale.yield %0 : tensor<2x130x4xf32>
  }
  return
}
