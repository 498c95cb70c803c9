// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file -verify-diagnostics | FileCheck %s

// Under global scales that are given, one kernel quantizes x and its transform, and takes
// the amaxes of both (C10, C11), whatever their order.
// CHECK-LABEL: func.func @one_pass
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x128xbf16>, %[[G:[a-z0-9]+]]: f32
// CHECK: blockscale.kernel ins(%[[X]], %[[G]] : tensor<64x128xbf16>, f32) outs(
// CHECK-NEXT: ^bb0(%[[LX:[a-z0-9]+]]: tensor<64x128xbf16>, %[[LG:[a-z0-9]+]]: f32,
// CHECK-NEXT: %[[A:.+]] = blockscale.amax %[[LX]] :
// CHECK-NEXT: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[LX]] block [1, 16] global_scale(%[[LG]] : f32)
// CHECK-NEXT: %[[H:.+]] = blockscale.hadamard %[[LX]] dim 0
// CHECK-NEXT: %[[P:.+]], %[[T:.+]] = blockscale.quantize %[[H]] block [16, 1] transposed :
// CHECK-NEXT: %[[B:.+]] = blockscale.amax %[[H]] :
// CHECK-NEXT: blockscale.yield %[[A]], %[[Q]], %[[S]], %[[P]], %[[T]], %[[B]]
// CHECK-NOT: blockscale.kernel
func.func @one_pass(%x: tensor<64x128xbf16>, %g: f32) -> (tensor<64x128xf4E2M1FN>, tensor<128x64xf4E2M1FN>, tensor<f32>, tensor<f32>) {
  // expected-remark @below {{takes one pass over x: the kernel that quantizes x has it as well}}
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : f32) : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  %b = blockscale.amax %h : tensor<64x128xbf16> -> tensor<f32>
  return %q, %p, %a, %b : tensor<64x128xf4E2M1FN>, tensor<128x64xf4E2M1FN>, tensor<f32>, tensor<f32>
}

// -----

// One amax that a quantization needs, on whatever way, is enough: all amaxes come
// before, from one read, and each kernel has the transform for itself. Its size is that
// of x.
// CHECK-LABEL: func.func @two_passes
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64x128xbf16>
// CHECK: %[[F:.+]]:2 = blockscale.kernel ins(%[[X]] : tensor<?x64x128xbf16>) outs(
// CHECK-NEXT: ^bb0(%[[LX:[a-z0-9]+]]: tensor<?x64x128xbf16>,
// CHECK-NEXT: %[[H:.+]] = blockscale.hadamard %[[LX]] dim 0
// CHECK-NEXT: %[[B:.+]] = blockscale.amax %[[H]] : tensor<?x64x128xbf16> -> tensor<f32>
// CHECK-NEXT: %[[A:.+]] = blockscale.amax %[[LX]] : tensor<?x64x128xbf16> -> tensor<?xf32>
// CHECK-NEXT: blockscale.yield %[[B]], %[[A]]
// CHECK: %[[D:.+]] = tensor.dim %[[X]], %c0
// CHECK: %[[E:.+]] = tensor.extract %[[F]]#0[]
// CHECK: %[[I:.+]] = scf.if
// CHECK: blockscale.kernel ins(%[[X]], %[[I]] : tensor<?x64x128xbf16>, f32) outs(
// CHECK-NEXT: ^bb0(%[[LX:[a-z0-9]+]]: tensor<?x64x128xbf16>, %[[LI:[a-z0-9]+]]: f32,
// CHECK-NEXT: %[[H:.+]] = blockscale.hadamard %[[LX]] dim 0
// CHECK-NEXT: blockscale.quantize %[[LX]] block [1, 16] :
// CHECK-NEXT: blockscale.quantize %[[H]] block [16, 1] transposed global_scale(%[[LI]] : f32)
// CHECK-NOT: blockscale.kernel
// CHECK: return %{{.+}}, %{{.+}}, %[[F]]#1, %[[D]]
func.func @two_passes(%x: tensor<?x64x128xbf16>, %c: i1) -> (tensor<?x64x128xf4E2M1FN>, tensor<?x128x64xf4E2M1FN>, tensor<?xf32>, index) {
  %h = blockscale.hadamard %x dim 0 : tensor<?x64x128xbf16>
  %b = blockscale.amax %h : tensor<?x64x128xbf16> -> tensor<f32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %h, %c0 : tensor<?x64x128xbf16>
  %e = tensor.extract %b[] : tensor<f32>
  %one = arith.constant 1.0 : f32
  %i = scf.if %c -> f32 {
    %f = arith.addf %e, %one : f32
    scf.yield %f : f32
  } else {
    scf.yield %one : f32
  }
  %a = blockscale.amax %x : tensor<?x64x128xbf16> -> tensor<?xf32>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x64x128xbf16> -> tensor<?x64x128xf4E2M1FN>, tensor<?x64x8xf8E4M3FN>
  // expected-remark @below {{takes a second pass over x (one_pass_c1): expected operands that need no amax of x, but got global_scale}}
  %p, %t = blockscale.quantize %h block [16, 1] transposed global_scale(%i : f32) : tensor<?x64x128xbf16> -> tensor<?x128x64xf4E2M1FN>, tensor<?x128x4xf8E4M3FN>
  return %q, %p, %a, %d : tensor<?x64x128xf4E2M1FN>, tensor<?x128x64xf4E2M1FN>, tensor<?xf32>, index
}

// -----

// A transform for the amaxes alone stays out of the second kernel; what quantizes
// elsewhere needs no second pass here.
// CHECK-LABEL: func.func @transform_of_first
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.amax
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK-NOT: blockscale.kernel
func.func @transform_of_first(%x: tensor<64x128xbf16>) -> (tensor<64x128xf4E2M1FN>, tensor<64x128xf4E2M1FN>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  %h = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
  %b = blockscale.amax %h : tensor<64x128xbf16> -> tensor<f32>
  // expected-remark @below {{takes a second pass over x (one_pass_c1): expected operands that need no amax of x, but got global_amax}}
  %q, %s = blockscale.quantize %x block [1, 16] global_amax(%a : tensor<f32>) : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  %p, %t = blockscale.quantize %x block [16, 16] global_amax(%a : tensor<f32>) : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<4x8xf8E4M3FN>
  return %q, %p, %b : tensor<64x128xf4E2M1FN>, tensor<64x128xf4E2M1FN>, tensor<f32>
}

// -----

// Without a place for all, two passes. The amax is where it was.
// CHECK-LABEL: func.func @no_place
// CHECK: %[[A:.+]] = blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax
// CHECK: tensor.extract %[[A]]
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.quantize
// CHECK-NOT: blockscale.kernel
func.func @no_place(%x: tensor<64x64xbf16>, %m: memref<f32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>) {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %e = tensor.extract %a[] : tensor<f32>
  memref.store %e, %m[] : memref<f32>
  %g = memref.load %m[] : memref<f32>
  // expected-remark @below {{takes a second pass over x: expected the kernel's operands to come before the first op of x, or its results to be used after the last}}
  %q, %s = blockscale.quantize %x block [1, 16] global_amax(%g : f32) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %p, %t = blockscale.quantize %x block [16, 1] transposed : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q, %p : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>
}

// -----

// An amax and the one quantization that needs it: nothing to share, and to say.
// CHECK-LABEL: func.func @pair
// CHECK-COUNT-2: blockscale.kernel
func.func @pair(%x: tensor<64x64xf32>) -> tensor<64x64xf4E2M1FN> {
  %a = blockscale.amax %x : tensor<64x64xf32> -> tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>) : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q : tensor<64x64xf4E2M1FN>
}

// -----

// Amaxes alone: of the tensor and of its matrices. Those of rows and of groups have
// kernels of their own.
// CHECK-LABEL: func.func @one_read_amaxes
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax {{.+}} -> tensor<f32>
// CHECK-NEXT: blockscale.amax {{.+}} -> tensor<4xf32>
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax {{.+}} -> tensor<4x16xf32>
func.func @one_read_amaxes(%x: tensor<4x16x128xbf16>) -> (tensor<f32>, tensor<4xf32>, tensor<4x16xf32>) {
  %a = blockscale.amax %x : tensor<4x16x128xbf16> -> tensor<f32>
  %b = blockscale.amax %x : tensor<4x16x128xbf16> -> tensor<4xf32>
  // expected-remark @below {{reads x in a kernel of its own (one_read_c4): expected one amax for the tensor or each matrix, but got tensor<4x16xf32>}}
  %c = blockscale.amax %x : tensor<4x16x128xbf16> -> tensor<4x16xf32>
  return %a, %b, %c : tensor<f32>, tensor<4xf32>, tensor<4x16xf32>
}

// -----

// Amaxes of groups of rows join that of the tensor, those of columns do not.
// CHECK-LABEL: func.func @one_read_c3_and_c1
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax {{.+}} -> tensor<f32>
// CHECK-NEXT: blockscale.amax {{.+}} offsets({{.+}} -> tensor<3xf32>
// CHECK-NEXT: blockscale.yield
// CHECK-COUNT-3: blockscale.kernel
// CHECK-NOT: blockscale.kernel
func.func @one_read_c3_and_c1(%x: tensor<64x128xbf16>, %y: tensor<64x128xf32>, %o: tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<64xf32>) {
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  %b = blockscale.amax %x offsets(%o : tensor<3xi32>) : tensor<64x128xbf16> -> tensor<3xf32>
  // expected-remark @below {{(one_read_c3): expected amaxes of groups of rows, but got group_dim 1}}
  %e = blockscale.amax %x offsets(%o : tensor<3xi32>) group_dim 1 : tensor<64x128xbf16> -> tensor<3xf32>
  // expected-remark @below {{(one_read_c1): expected x of bf16, but got tensor<64x128xf32>}}
  %c = blockscale.amax %y : tensor<64x128xf32> -> tensor<f32>
  // expected-remark @below {{(one_read_c1): expected x of bf16, but got tensor<64x128xf32>}}
  %d = blockscale.amax %y : tensor<64x128xf32> -> tensor<64xf32>
  return %a, %b, %e, %c, %d : tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<64xf32>
}

// -----

// rht_c3: memory holds a transform whose rows' amaxes are taken.
// CHECK-LABEL: func.func @rht_c3
// CHECK-COUNT-3: blockscale.kernel
func.func @rht_c3(%x: tensor<64x128xbf16>) -> (tensor<f32>, tensor<64xf32>) {
  // expected-remark @below {{has a kernel of its own (rht_c3): expected all uses to be quantizations or amaxes of its block that can share a kernel, but got 'blockscale.amax'}}
  %h = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
  %a = blockscale.amax %h : tensor<64x128xbf16> -> tensor<f32>
  // expected-remark @below {{(one_read_c4): expected one amax for the tensor or each matrix}}
  %b = blockscale.amax %h : tensor<64x128xbf16> -> tensor<64xf32>
  return %a, %b : tensor<f32>, tensor<64xf32>
}
