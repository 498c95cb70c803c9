// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize | FileCheck %s

// A function for each element type and kind of result, whatever the sizes.
// CHECK: gpu.func @clear_f32(%{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: i64) kernel
// CHECK: gpu.func @amax_bf16(%{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: i64, %{{.+}}: i64) kernel attributes {nvvm.reqntid = array<i32: 256, 1, 1>}
// Eight vectors are loaded before the first is used, and one thread of a block
// raises the result.
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: arith.maximumf
// CHECK: llvm.atomicrmw umax {{.+}} syncscope("device") monotonic
// CHECK-NOT: llvm.atomicrmw
// CHECK: gpu.func @amax_f32_rows(
// CHECK-NOT: llvm.atomicrmw
// CHECK: gpu.func @amax_bf16_row_groups(
// CHECK-NOT: gpu.func

// The result is zero before CTAs raise it: launches run in order.
// CHECK-LABEL: func.func @tensor
// CHECK-SAME: %[[X:.+]]: memref<?x80xbf16>, %[[A:.+]]: memref<f32>
func.func @tensor(%x: memref<?x80xbf16>, %a: memref<f32>) {
  // CHECK-DAG: %[[C1:.+]] = arith.constant 1 : index
  // CHECK-DAG: %[[M:.+]] = memref.dim %[[X]]
  // CHECK-DAG: %[[COUNT:.+]] = arith.muli %[[M]], %c80
  // CHECK: gpu.launch_func @blockscale_kernels::@clear_f32 blocks in (%[[C1]], %[[C1]], %[[C1]])
  // CHECK: %[[COVERED:.+]] = arith.addi %[[COUNT]], %c7
  // CHECK: %[[BLOCKS:.+]] = arith.ceildivui %[[COVERED]], %c16384
  // CHECK: gpu.launch_func @blockscale_kernels::@amax_bf16 blocks in (%[[BLOCKS]], %[[C1]], %[[C1]])
  blockscale.kernel ins(%x : memref<?x80xbf16>) outs(%a : memref<f32>) {
  ^bb0(%lx: tensor<?x80xbf16>, %la: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<?x80xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}

// The matrices of a batch are along y, and beyond its limit along z.
// CHECK-LABEL: func.func @batch
// CHECK-SAME: %[[X:.+]]: memref<?x4x6xbf16>, %[[A:.+]]: memref<?xf32>
func.func @batch(%x: memref<?x4x6xbf16>, %a: memref<?xf32>) {
  // CHECK: %[[FOUND:.+]] = memref.dim %[[A]]
  // CHECK: %[[FITS:.+]] = arith.cmpi eq, %[[FOUND]]
  // CHECK: cf.assert %[[FITS]], "amax: expected dimension 0 of the result to fit the shape of x"
  // CHECK: gpu.launch_func @blockscale_kernels::@clear_f32
  // CHECK: %[[Y:.+]] = arith.minui %[[N:.+]], %c65535
  // CHECK: %[[Z:.+]] = arith.ceildivui %[[N]], %c65535
  // CHECK: gpu.launch_func @blockscale_kernels::@amax_bf16 blocks in (%c1, %[[Y]], %[[Z]])
  blockscale.kernel ins(%x : memref<?x4x6xbf16>) outs(%a : memref<?xf32>) {
  ^bb0(%lx: tensor<?x4x6xbf16>, %la: tensor<?xf32>):
    %0 = blockscale.amax %lx : tensor<?x4x6xbf16> -> tensor<?xf32>
    blockscale.yield %0 : tensor<?xf32>
  }
  return
}

// Rows have a warp each, and one launch.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: memref<2x20x6xf32>, %a: memref<2x20xf32>) {
  // CHECK-NOT: clear_f32
  // CHECK: gpu.launch_func @blockscale_kernels::@amax_f32_rows blocks in (%c5,
  blockscale.kernel ins(%x : memref<2x20x6xf32>) outs(%a : memref<2x20xf32>) {
  ^bb0(%lx: tensor<2x20x6xf32>, %la: tensor<2x20xf32>):
    %0 = blockscale.amax %lx : tensor<2x20x6xf32> -> tensor<2x20xf32>
    blockscale.yield %0 : tensor<2x20xf32>
  }
  return
}

// The offsets stay on the device.
// CHECK-LABEL: func.func @groups
func.func @groups(%x: memref<20x64xbf16>, %o: memref<3xi32>, %a: memref<3xf32>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@clear_f32
  // CHECK: gpu.launch_func @blockscale_kernels::@amax_bf16_row_groups
  blockscale.kernel ins(%x, %o : memref<20x64xbf16>, memref<3xi32>) outs(%a : memref<3xf32>) {
  ^bb0(%lx: tensor<20x64xbf16>, %lo: tensor<3xi32>, %la: tensor<3xf32>):
    %0 = blockscale.amax %lx offsets(%lo : tensor<3xi32>) : tensor<20x64xbf16> -> tensor<3xf32>
    blockscale.yield %0 : tensor<3xf32>
  }
  return
}
