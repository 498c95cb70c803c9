// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_80}))' -split-input-file | FileCheck %s

// Groups are padded where the kernel that quantizes them loads them; the ends are a
// result if others need them. Sizes of the padded rows, which no memory holds, follow
// from those of x.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x128xbf16>, %[[O:[a-z0-9]+]]: tensor<3xi32>
// CHECK: %[[R:.+]]:3 = blockscale.kernel ins(%[[X]], %[[O]] : tensor<?x128xbf16>, tensor<3xi32>) outs(
// CHECK-NEXT: ^bb0(%[[LX:[a-z0-9]+]]: tensor<?x128xbf16>, %[[LO:[a-z0-9]+]]: tensor<3xi32>,
// CHECK-NEXT: %[[P:.+]], %[[E:.+]] = blockscale.pad_groups %[[LX]] offsets(%[[LO]] : tensor<3xi32>) unit 32
// CHECK-NEXT: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[P]] block [32, 1] transposed
// CHECK-NEXT: blockscale.yield
// CHECK-NOT: blockscale.kernel
func.func @columns(%x: tensor<?x128xbf16>, %o: tensor<3xi32>) -> (tensor<128x?xf8E4M3FN>, tensor<128x?xf8E8M0FNU>, tensor<3xi32>, index) {
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<?x128xbf16> -> tensor<?x128xbf16>
  %q, %s = blockscale.quantize %p block [32, 1] transposed : tensor<?x128xbf16> -> tensor<128x?xf8E4M3FN>, tensor<128x?xf8E8M0FNU>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %p, %c0 : tensor<?x128xbf16>
  return %q, %s, %e, %d : tensor<128x?xf8E4M3FN>, tensor<128x?xf8E8M0FNU>, tensor<3xi32>, index
}

// -----

// So they are for rows and transformed columns of the padded groups, and for a quantizer
// that takes the ends.
// CHECK-LABEL: func.func @several
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.pad_groups
// CHECK-NEXT: blockscale.quantize %{{.+}} block [1, 16] offsets(
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.quantize %{{.+}} block [16, 1] transposed
// CHECK-NEXT: blockscale.yield
// CHECK-NOT: blockscale.kernel
func.func @several(%x: tensor<96x128xbf16>, %o: tensor<3xi32>) -> (tensor<192x128xf4E2M1FN>, tensor<128x192xf4E2M1FN>) {
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 48 : tensor<96x128xbf16> -> tensor<192x128xbf16>
  %q, %s = blockscale.quantize %p block [1, 16] offsets(%e : tensor<3xi32>) : tensor<192x128xbf16> -> tensor<192x128xf4E2M1FN>, tensor<192x8xf8E4M3FN>
  %h = blockscale.hadamard %p dim 0 : tensor<192x128xbf16>
  %c, %t = blockscale.quantize %h block [16, 1] transposed : tensor<192x128xbf16> -> tensor<128x192xf4E2M1FN>, tensor<128x12xf8E4M3FN>
  return %q, %c : tensor<192x128xf4E2M1FN>, tensor<128x192xf4E2M1FN>
}

// -----

// How many groups there are may be known at run time. Tiles of them follow from the ends
// that the caller has: those of the padded groups are made in the kernel.
// CHECK-LABEL: func.func @dynamic_groups
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<96x128xbf16>, %[[O:[a-z0-9]+]]: tensor<?xi32>
// CHECK: tensor.empty(%[[K:.+]]) : tensor<128x?xf8E4M3FN>
// CHECK: %[[G:.+]] = tensor.dim %[[O]], %
// CHECK: %[[T:.+]] = affine.apply #{{.+}}()[%[[G]], %[[K]]]
// CHECK: %[[E:.+]] = tensor.empty(%[[T]]) : tensor<?x32x4x4xf8E8M0FNU>
// CHECK: builtin.unrealized_conversion_cast %[[E]] : tensor<?x32x4x4xf8E8M0FNU> to tensor<128x?xf8E8M0FNU, #{{.+}}>
// CHECK-COUNT-1: blockscale.kernel
// CHECK-NOT: blockscale.kernel
// CHECK-NOT: tensor.dim %{{.+}} : tensor<128x?xf8E8M0FNU
#any_columns = #blockscale.layout<swizzle_128x4, groups = ?, dim = 1>
func.func @dynamic_groups(%x: tensor<96x128xbf16>, %o: tensor<?xi32>) -> (tensor<128x?xf8E4M3FN>, tensor<128x?xf8E8M0FNU, #any_columns>, index) {
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<?xi32>) unit 32 : tensor<96x128xbf16> -> tensor<?x128xbf16>
  %q, %s = blockscale.quantize %p block [32, 1] transposed offsets(%e : tensor<?xi32>) : tensor<?x128xbf16> -> tensor<128x?xf8E4M3FN>, tensor<128x?xf8E8M0FNU, #any_columns>
  %c1 = arith.constant 1 : index
  %d = tensor.dim %s, %c1 : tensor<128x?xf8E8M0FNU, #any_columns>
  return %q, %s, %d : tensor<128x?xf8E4M3FN>, tensor<128x?xf8E8M0FNU, #any_columns>, index
}

// -----

// Rows whose length is known at run time, and may be 0.
// CHECK-LABEL: func.func @pad_c1_columns
// CHECK-COUNT-2: blockscale.kernel
func.func @pad_c1_columns(%x: tensor<96x?xbf16>, %o: tensor<3xi32>) -> tensor<?x160xf8E4M3FN> {
  // expected-remark @below {{has a kernel of its own (pad_c1): expected a static number of columns, not 0, but got tensor<96x?xbf16>}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<96x?xbf16> -> tensor<160x?xbf16>
  %q, %s = blockscale.quantize %p block [32, 1] transposed : tensor<160x?xbf16> -> tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU>
  return %q : tensor<?x160xf8E4M3FN>
}

// -----

// pad_c2: memory holds the padded rows, for an amax or a caller.
// CHECK-LABEL: func.func @pad_c2_amax
// CHECK-COUNT-3: blockscale.kernel
func.func @pad_c2_amax(%x: tensor<96x128xbf16>, %o: tensor<3xi32>) -> tensor<128x160xf4E2M1FN> {
  // expected-remark @below {{has a kernel of its own (pad_c2): expected all uses to be quantizations of its block that can share a kernel, but got 'blockscale.amax'}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<96x128xbf16> -> tensor<160x128xbf16>
  %a = blockscale.amax %p : tensor<160x128xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %p block [16, 1] transposed recipe te global_amax(%a : tensor<f32>) : tensor<160x128xbf16> -> tensor<128x160xf4E2M1FN>, tensor<128x10xf8E4M3FN>
  return %q : tensor<128x160xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @pad_c2_result
// CHECK-COUNT-2: blockscale.kernel
func.func @pad_c2_result(%x: tensor<96x128xbf16>, %o: tensor<3xi32>) -> (tensor<160x128xbf16>, tensor<128x160xf8E4M3FN>) {
  // expected-remark @below {{(pad_c2): expected all uses to be quantizations of its block that can share a kernel, but got 'func.return'}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<96x128xbf16> -> tensor<160x128xbf16>
  %q, %s = blockscale.quantize %p block [32, 1] transposed : tensor<160x128xbf16> -> tensor<128x160xf8E4M3FN>, tensor<128x5xf8E8M0FNU>
  return %p, %q : tensor<160x128xbf16>, tensor<128x160xf8E4M3FN>
}

// -----

// Blocks of one row alone, and several quantizations that cannot share a kernel.
// CHECK-LABEL: func.func @pad_c2_rows
// CHECK-COUNT-2: blockscale.kernel
func.func @pad_c2_rows(%x: tensor<96x128xbf16>, %o: tensor<3xi32>) -> tensor<160x128xf8E4M3FN> {
  // expected-remark @below {{(pad_c2): expected blocks of several rows, but got of one}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<96x128xbf16> -> tensor<160x128xbf16>
  %q, %s = blockscale.quantize %p block [1, 32] : tensor<160x128xbf16> -> tensor<160x128xf8E4M3FN>, tensor<160x4xf8E8M0FNU>
  return %q : tensor<160x128xf8E4M3FN>
}

// -----

// pad_c3: blocks are 16 rows of a thread, or more.
// CHECK-LABEL: func.func @pad_c3
// CHECK-COUNT-2: blockscale.kernel
func.func @pad_c3(%x: tensor<96x128xbf16>, %o: tensor<3xi32>) -> tensor<128x144xf4E2M1FN> {
  // expected-remark @below {{(pad_c3): expected a unit that is a multiple of 16, but got 24}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 24 : tensor<96x128xbf16> -> tensor<144x128xbf16>
  %q, %s = blockscale.quantize %p block [16, 1] transposed : tensor<144x128xbf16> -> tensor<128x144xf4E2M1FN>, tensor<128x9xf8E4M3FN>
  return %q : tensor<128x144xf4E2M1FN>
}
