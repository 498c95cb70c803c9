// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a fuse=false}))' -split-input-file | FileCheck %s --check-prefix=APART

// Quantizations of two x that need nothing of each other share a launch, whatever their blocks,
// recipes and sizes.
// CHECK-LABEL: func.func @two
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x96xbf16>, %[[Y:[a-z0-9]+]]: tensor<?x64xf32>
// CHECK: blockscale.kernel ins(%[[X]], %[[Y]] : {{.*}} family strips
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize %{{.+}} block [1, 32]
// CHECK-NEXT: blockscale.quantize %{{.+}} block [32, 1] transposed
// CHECK-NEXT: blockscale.quantize %{{.+}} block [32, 1] recipe floor
// CHECK-NEXT: blockscale.yield
// CHECK-NOT: blockscale.kernel
// CHECK: return
// APART-LABEL: func.func @two
// APART-COUNT-3: blockscale.kernel
func.func @two(%x: tensor<64x96xbf16>, %y: tensor<?x64xf32>) -> (tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>, tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>, tensor<?x64xf8E5M2>, tensor<?x64xf8E8M0FNU>) {
  %0, %1 = blockscale.quantize %x block [1, 32] : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %2, %3 = blockscale.quantize %x block [32, 1] transposed : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  %4, %5 = blockscale.quantize %y block [32, 1] recipe floor : tensor<?x64xf32> -> tensor<?x64xf8E5M2>, tensor<?x64xf8E8M0FNU>
  return %0, %1, %2, %3, %4, %5 : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>, tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>, tensor<?x64xf8E5M2>, tensor<?x64xf8E8M0FNU>
}

// -----

// Quantizations of one x that cannot share what they read of it have launches of their own.
// CHECK-LABEL: func.func @one_x
// CHECK-COUNT-2: blockscale.kernel
// CHECK-NOT: blockscale.kernel
// CHECK: return
func.func @one_x(%x: tensor<32x128xf32>) -> (tensor<32x128xf8E4M3FN>, tensor<1x128xf8E8M0FNU>, tensor<128x32xf8E4M3FN>, tensor<128x1xf8E8M0FNU>) {
  %0, %1 = blockscale.quantize %x block [32, 1] recipe floor : tensor<32x128xf32> -> tensor<32x128xf8E4M3FN>, tensor<1x128xf8E8M0FNU>
  %2, %3 = blockscale.quantize %x block [32, 1] transposed recipe floor : tensor<32x128xf32> -> tensor<128x32xf8E4M3FN>, tensor<128x1xf8E8M0FNU>
  return %0, %1, %2, %3 : tensor<32x128xf8E4M3FN>, tensor<1x128xf8E8M0FNU>, tensor<128x32xf8E4M3FN>, tensor<128x1xf8E8M0FNU>
}

// -----

// So do those of rows that are padded alike, each of which takes the ends of its own padding,
// though it names those of the other one.
// CHECK-LABEL: func.func @padded
// CHECK: blockscale.kernel
// CHECK: %[[PX:.+]], %[[EX:.+]] = blockscale.pad_groups
// CHECK-NEXT: blockscale.quantize %[[PX]] {{.*}} offsets(%[[EX]] :
// CHECK-NEXT: %[[PY:.+]], %[[EY:.+]] = blockscale.pad_groups
// CHECK-NEXT: blockscale.quantize %[[PY]] {{.*}} offsets(%[[EY]] :
// CHECK-NEXT: blockscale.yield %[[EX]]
// CHECK-NOT: blockscale.kernel
// CHECK: return
func.func @padded(%x: tensor<?x64xbf16>, %y: tensor<?x96xbf16>, %o: tensor<3xi32>) -> (tensor<64x?xf8E4M3FN>, tensor<96x?xf8E4M3FN>, tensor<3xi32>) {
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<?x64xbf16> -> tensor<?x64xbf16>
  %0, %1 = blockscale.quantize %p block [32, 1] transposed offsets(%e : tensor<3xi32>) : tensor<?x64xbf16> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
  %r, %f = blockscale.pad_groups %y offsets(%o : tensor<3xi32>) unit 32 : tensor<?x96xbf16> -> tensor<?x96xbf16>
  %2, %3 = blockscale.quantize %r block [32, 1] transposed offsets(%e : tensor<3xi32>) : tensor<?x96xbf16> -> tensor<96x?xf8E4M3FN>, tensor<96x?xf8E8M0FNU>
  return %0, %2, %e : tensor<64x?xf8E4M3FN>, tensor<96x?xf8E4M3FN>, tensor<3xi32>
}

// -----

// Groups of other units have other ends, which another kernel makes.
// CHECK-LABEL: func.func @units
// CHECK-COUNT-2: blockscale.kernel
func.func @units(%x: tensor<?x64xbf16>, %y: tensor<?x96xbf16>, %o: tensor<3xi32>) -> (tensor<64x?xf8E4M3FN>, tensor<96x?xf8E4M3FN>) {
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<?x64xbf16> -> tensor<?x64xbf16>
  %0, %1 = blockscale.quantize %p block [32, 1] transposed offsets(%e : tensor<3xi32>) : tensor<?x64xbf16> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
  %r, %f = blockscale.pad_groups %y offsets(%o : tensor<3xi32>) unit 64 : tensor<?x96xbf16> -> tensor<?x96xbf16>
  %2, %3 = blockscale.quantize %r block [32, 1] transposed offsets(%e : tensor<3xi32>) : tensor<?x96xbf16> -> tensor<96x?xf8E4M3FN>, tensor<96x?xf8E8M0FNU>
  return %0, %2 : tensor<64x?xf8E4M3FN>, tensor<96x?xf8E4M3FN>
}

// -----

// The second x is made of what the first one was quantized to.
// CHECK-LABEL: func.func @dependent
// CHECK-COUNT-3: blockscale.kernel
func.func @dependent(%x: tensor<64x64xbf16>, %w: tensor<64x64xf8E4M3FN>, %s: tensor<64x2xf8E8M0FNU>) -> (tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>) {
  %q, %t = blockscale.quantize %x block [32, 1] transposed : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %y = blockscale.scaled_mm %q, %w scales(%t, %s) block [1, 32] : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xbf16>
  %p, %u = blockscale.quantize %y block [32, 1] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
  return %p, %u : tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
}

// -----

// beside_c1: CTAs of a batch have two numbers. beside_c2: amaxes are cleared by a kernel before.
// CHECK-LABEL: func.func @beside_c1
// CHECK-COUNT-2: blockscale.kernel
func.func @beside_c1(%x: tensor<64x64xbf16>, %y: tensor<2x64x64xbf16>) -> (tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<2x64x64xf8E4M3FN>, tensor<2x64x2xf8E8M0FNU>) {
  %0, %1 = blockscale.quantize %x block [32, 1] transposed : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %2, %3 = blockscale.quantize %y block [32, 1] transposed : tensor<2x64x64xbf16> -> tensor<2x64x64xf8E4M3FN>, tensor<2x64x2xf8E8M0FNU>
  return %0, %1, %2, %3 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<2x64x64xf8E4M3FN>, tensor<2x64x2xf8E8M0FNU>
}

// CHECK-LABEL: func.func @beside_c2
// CHECK-COUNT-2: blockscale.kernel
func.func @beside_c2(%x: tensor<64x64xbf16>, %y: tensor<64x64xbf16>) -> (tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<f32>) {
  %0, %1 = blockscale.quantize %x block [32, 1] transposed : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %2, %3 = blockscale.quantize %y block [32, 1] transposed : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %4 = blockscale.amax %y : tensor<64x64xbf16> -> tensor<f32>
  return %0, %1, %2, %3, %4 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<f32>
}
