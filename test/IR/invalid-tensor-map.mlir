// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @tensor_map_c1(%p: !llvm.ptr<1>, %n: index) {
  // expected-error @below {{expected 1 to 5 dims, but got 6}}
  %0 = blockscale.tensor_map %p dims[%n, %n, %n, %n, %n, %n] strides[%n, %n, %n, %n, %n] box [16, 1, 1, 1, 1, 1] element uint8 swizzle 0
  return
}

// -----

func.func @tensor_map_c1_box(%p: !llvm.ptr<1>, %n: index) {
  // expected-error @below {{expected the box to have 2 sizes, as dims, but got 1}}
  %0 = blockscale.tensor_map %p dims[%n, %n] strides[%n] box [16] element uint8 swizzle 0
  return
}

// -----

func.func @tensor_map_c1_strides(%p: !llvm.ptr<1>, %n: index) {
  // expected-error @below {{expected 1 strides, one fewer than dims, but got 2}}
  %0 = blockscale.tensor_map %p dims[%n, %n] strides[%n, %n] box [16, 1] element uint8 swizzle 0
  return
}

// -----

func.func @tensor_map_c2(%p: !llvm.ptr<1>, %n: index) {
  // expected-error @below {{expected sizes of the box to be 1 to 256, but got 257}}
  %0 = blockscale.tensor_map %p dims[%n, %n] strides[%n] box [16, 257] element uint8 swizzle 0
  return
}

// -----

func.func @tensor_map_c3(%p: !llvm.ptr<1>, %n: index) {
  // expected-error @below {{expected the swizzle to be 0, 32, 64 or 128, but got 16}}
  %0 = blockscale.tensor_map %p dims[%n] box [16] element uint8 swizzle 16
  return
}

// -----

func.func @tensor_map_c4(%p: !llvm.ptr<1>, %n: index) {
  // expected-error @below {{expected a row of the box to be a multiple of 16 bytes, but got 24}}
  %0 = blockscale.tensor_map %p dims[%n] box [24] element uint8 swizzle 0
  return
}

// -----

func.func @tensor_map_c4_swizzle(%p: !llvm.ptr<1>, %n: index) {
  // expected-error @below {{expected a row of the box to be at most the 128 bytes of the swizzle, but got 256}}
  %0 = blockscale.tensor_map %p dims[%n] box [256] element uint8 swizzle 128
  return
}

// -----

func.func @tensor_map_c4_padded(%p: !llvm.ptr<1>, %n: index) {
  // expected-error @below {{expected a row of the box to be 128 elements of u4_padded, but got 64}}
  %0 = blockscale.tensor_map %p dims[%n] box [64] element u4_padded swizzle 128
  return
}
