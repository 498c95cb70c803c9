// RUN: blockscale-opt %s --blockscale-to-cpu="from=form-kernels to=lower-kernels" -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: FileCheck %s --input-file=%t --check-prefix=MESSAGE

// The sweep on the CPU: one candidate a lane, 126 of them in 8 steps of 16.

// The scale of each candidate is (c * G) / 6, the loss of an element the squared
// difference of its magnitude and its rounded multiple of the scale. Nothing is
// contracted. The winner is found once a block.
// CHECK-LABEL: func.func private @sweep_scale_sweep_0(
// CHECK-SAME:      %[[X:[a-z0-9]+]]: memref<4x64xbf16>, %[[G:[a-z0-9]+]]: memref<f32>, %[[R:[a-z0-9]+]]: memref<4x4xf32>,
// CHECK-COUNT-8: arith.divf {{.+}} : vector<16xf32>
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             vector.load %[[X]]{{.+}} : memref<4x64xbf16>, vector<16xbf16>
// CHECK:             scf.for {{.+}} iter_args({{.+}}) -> (vector<16xf32>, vector<16xi32>, vector<16xi32>)
// CHECK-COUNT-16:      arith.divf {{.+}} : vector<16xf32>
// CHECK-NOT:           arith.divf
// CHECK-NOT:           fastmath
// CHECK:               arith.cmpf olt
// CHECK:             vector.reduction <minimumf>
// CHECK:             vector.reduction <minui>
// CHECK:             memref.store {{.+}}, %[[R]]
func.func @sweep(%x: tensor<4x64xbf16>, %a: tensor<f32>) -> tensor<4x4xf32> {
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>) : tensor<4x64xbf16> -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// With a Hessian the 16 errors of a candidate are weighed by its rows, in order.
// CHECK-LABEL: func.func private @hessian_scale_sweep_0(
// CHECK-SAME:      %[[H:[a-z0-9]+]]: memref<4x16x16xf32>,
// CHECK:         scf.for %[[J:[a-z0-9]+]] = %c0{{.*}} to %c16
// CHECK:           scf.for %[[I:[a-z0-9]+]] = %c0{{.*}} to %c16
// CHECK:             memref.load %[[H]][%{{[a-z0-9]+}}, %[[I]], %[[J]]] : memref<4x16x16xf32>
// CHECK:             arith.mulf {{.+}} : vector<16xf32>
// CHECK:             arith.addf {{.+}} : vector<16xf32>
func.func @hessian(%x: tensor<4x64xbf16>, %a: tensor<f32>, %h: tensor<4x16x16xf32>) -> tensor<4x4xf32> {
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>) hessian(%h : tensor<4x16x16xf32>)
      : tensor<4x64xbf16> -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// One global amax a batch element has its candidates' scales made for each row.
// CHECK-LABEL: func.func private @batch_scale_sweep_0(
// CHECK:         scf.for
// CHECK:           memref.load %{{.+}} : memref<2xf32>
// CHECK-COUNT-8:   arith.divf {{.+}} : vector<16xf32>
func.func @batch(%x: tensor<2x4x64xf32>, %a: tensor<2xf32>) -> tensor<2x4x4xf32> {
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<2xf32>) : tensor<2x4x64xf32> -> tensor<2x4x4xf32>
  return %b : tensor<2x4x4xf32>
}

// Columns that are known only at run time must be whole blocks.
// MESSAGE:     llvm.mlir.global internal constant @[[M:.+]]("scale_sweep: expected the last dimension of x to be a multiple of 16\00")
// MESSAGE-LABEL: func.func @dynamic(
// MESSAGE:       llvm.mlir.addressof @[[M]]
// CHECK-LABEL: func.func @dynamic(
// CHECK:         llvm.call @blockscale_report_error
func.func @dynamic(%x: tensor<4x?xbf16>, %a: tensor<f32>) -> tensor<4x?xf32> {
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>) : tensor<4x?xbf16> -> tensor<4x?xf32>
  return %b : tensor<4x?xf32>
}
