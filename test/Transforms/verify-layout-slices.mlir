// RUN: blockscale-opt %s -blockscale-verify-layout -split-input-file -verify-diagnostics

#swizzled = #blockscale.layout<swizzle_128x4>

// Whole tiles, or whole pairs, anywhere; the end may be ragged.
func.func @allowed(%s: tensor<2x200x5xf8E4M3FN, #swizzled>, %q: tensor<8x9xf4E2M1FN>, %i: index) {
  %0 = tensor.extract_slice %s[0, 128, 4] [1, 72, 1] [1, 1, 1] : tensor<2x200x5xf8E4M3FN, #swizzled> to tensor<72x1xf8E4M3FN, #swizzled>
  %1 = tensor.extract_slice %s[%i, 0, 0] [1, 128, 4] [1, 1, 1] : tensor<2x200x5xf8E4M3FN, #swizzled> to tensor<1x128x4xf8E4M3FN, #swizzled>
  %2 = tensor.extract_slice %q[1, 4] [4, 5] [2, 1] : tensor<8x9xf4E2M1FN> to tensor<4x5xf4E2M1FN>
  %3 = tensor.extract_slice %q[0, 2] [8, 4] [1, 1] : tensor<8x9xf4E2M1FN> to tensor<8x4xf4E2M1FN>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
// What an op keeps of its operands' sizes says where the end is.
func.func @to_the_end(%x: tensor<?x?xbf16>, %i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %k = tensor.dim %x, %c1 : tensor<?x?xbf16>
  %row = affine.apply affine_map<()[s0] -> (128 * s0)>()[%i]
  %col = affine.apply affine_map<()[s0] -> (4 * s0)>()[%j]
  %m = affine.apply affine_map<()[s0, s1] -> (s0 - s1)>()[%rows, %row]
  %n = affine.apply affine_map<()[s0, s1] -> (s0 ceildiv 16 - s1)>()[%k, %col]
  %q, %s = blockscale.quantize %x block [1, 16] recipe te
      : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
  %0 = tensor.extract_slice %s[%row, %col] [%m, %n] [1, 1] : tensor<?x?xf8E4M3FN, #swizzled> to tensor<?x?xf8E4M3FN, #swizzled>
  %1 = tensor.extract_slice %q[0, 0] [1, %k] [1, 1] : tensor<?x?xf4E2M1FN> to tensor<1x?xf4E2M1FN>
  %blocks = affine.apply affine_map<()[s0] -> (s0 ceildiv 16)>()[%k]
  %2 = blockscale.swizzle %s sizes(%rows, %blocks) : tensor<?x?xf8E4M3FN, #swizzled> -> tensor<?x?xf8E4M3FN>
  %3 = blockscale.swizzle %2 : tensor<?x?xf8E4M3FN> -> tensor<?x?xf8E4M3FN, #swizzled>
  %4 = tensor.extract_slice %3[%row, %col] [%m, %n] [1, 1] : tensor<?x?xf8E4M3FN, #swizzled> to tensor<?x?xf8E4M3FN, #swizzled>
  return
}
func.func @before_the_end(%x: tensor<?x?xbf16>, %i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %row = affine.apply affine_map<()[s0] -> (128 * s0)>()[%i]
  %m = affine.apply affine_map<()[s0, s1] -> (s0 - s1 - 1)>()[%rows, %row]
  %q, %s = blockscale.quantize %x block [1, 16] recipe te
      : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
  // expected-error @below {{expected the size of dimension 0 to be a multiple of 128 or to reach the end, but got a value not known to be one}}
  %0 = tensor.extract_slice %s[%row, 0] [%m, 4] [1, 1] : tensor<?x?xf8E4M3FN, #swizzled> to tensor<?x4xf8E4M3FN, #swizzled>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @offsets(%s: tensor<256x8xf8E4M3FN, #swizzled>, %q: tensor<4x16xf4E2M1FN>, %i: index) {
  // expected-error @below {{expected the offset of dimension 0 to be a multiple of 128, but got 64}}
  %0 = tensor.extract_slice %s[64, 0] [128, 8] [1, 1] : tensor<256x8xf8E4M3FN, #swizzled> to tensor<128x8xf8E4M3FN, #swizzled>
  // expected-error @below {{expected the offset of dimension 1 to be a multiple of 4, but got 2}}
  %1 = tensor.extract_slice %s[0, 2] [256, 4] [1, 1] : tensor<256x8xf8E4M3FN, #swizzled> to tensor<256x4xf8E4M3FN, #swizzled>
  // expected-error @below {{expected the offset of dimension 0 to be a multiple of 128, but got a value not known to be one}}
  %2 = tensor.extract_slice %s[%i, 0] [128, 8] [1, 1] : tensor<256x8xf8E4M3FN, #swizzled> to tensor<128x8xf8E4M3FN, #swizzled>
  // expected-error @below {{expected the offset of dimension 1 to be a multiple of 2, but got 3}}
  %3 = tensor.extract_slice %q[0, 3] [4, 4] [1, 1] : tensor<4x16xf4E2M1FN> to tensor<4x4xf4E2M1FN>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @sizes(%s: tensor<256x8xf8E4M3FN, #swizzled>, %q: tensor<4x16xf4E2M1FN>, %n: index) {
  // expected-error @below {{expected the size of dimension 0 to be a multiple of 128 or to reach the end, but got 100}}
  %0 = tensor.extract_slice %s[128, 0] [100, 8] [1, 1] : tensor<256x8xf8E4M3FN, #swizzled> to tensor<100x8xf8E4M3FN, #swizzled>
  // expected-error @below {{expected the size of dimension 1 to be a multiple of 4 or to reach the end, but got a value not known to be one}}
  %1 = tensor.extract_slice %s[0, 0] [256, %n] [1, 1] : tensor<256x8xf8E4M3FN, #swizzled> to tensor<256x?xf8E4M3FN, #swizzled>
  // expected-error @below {{expected the size of dimension 1 to be a multiple of 2 or to reach the end, but got 5}}
  %2 = tensor.extract_slice %q[0, 4] [4, 5] [1, 1] : tensor<4x16xf4E2M1FN> to tensor<4x5xf4E2M1FN>
  return
}

// -----

func.func @strides(%q: tensor<4x16xf4E2M1FN>) {
  // expected-error @below {{expected the stride of dimension 1 to be 1, but got 2}}
  %0 = tensor.extract_slice %q[0, 0] [4, 8] [1, 2] : tensor<4x16xf4E2M1FN> to tensor<4x8xf4E2M1FN>
  return
}

// -----

// A column of one has no storage of its own without its dimension.
func.func @dropped(%q: tensor<4x1xf4E2M1FN>) {
  // expected-error @below {{expected a slice to keep dimension 1 of 'tensor<4x1xf4E2M1FN>', but got 'tensor<4xf4E2M1FN>'}}
  %0 = tensor.extract_slice %q[0, 0] [4, 1] [1, 1] : tensor<4x1xf4E2M1FN> to tensor<4xf4E2M1FN>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @layout(%s: tensor<256x8xf8E4M3FN, #swizzled>, %t: tensor<128x8xf8E4M3FN>) {
  // expected-error @below {{expected a slice to keep the layout of 'tensor<256x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>', but got 'tensor<128x8xf8E4M3FN>'}}
  %0 = tensor.insert_slice %t into %s[0, 0] [128, 8] [1, 1] : tensor<128x8xf8E4M3FN> into tensor<256x8xf8E4M3FN, #swizzled>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @grouped(%s: tensor<256x8xf8E4M3FN, #grouped>) {
  // expected-error @below {{expected no slice of a grouped layout, where the place of a row depends on the offsets, but got 'tensor<256x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>'}}
  %0 = tensor.extract_slice %s[0, 0] [128, 8] [1, 1] : tensor<256x8xf8E4M3FN, #grouped> to tensor<128x8xf8E4M3FN, #grouped>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @parallel_insert(%s: tensor<256x8xf8E4M3FN, #swizzled>, %t: tensor<64x8xf8E4M3FN, #swizzled>) -> tensor<256x8xf8E4M3FN, #swizzled> {
  %0 = scf.forall (%i) = (0) to (256) step (64) shared_outs(%o = %s) -> tensor<256x8xf8E4M3FN, #swizzled> {
    scf.forall.in_parallel {
      // expected-error @below {{expected the offset of dimension 0 to be a multiple of 128, but got a value not known to be one}}
      tensor.parallel_insert_slice %t into %o[%i, 0] [64, 8] [1, 1] : tensor<64x8xf8E4M3FN, #swizzled> into tensor<256x8xf8E4M3FN, #swizzled>
    }
  }
  return %0 : tensor<256x8xf8E4M3FN, #swizzled>
}

// -----

// Rows of transposed and of expanded scales are columns of x.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @to_the_end_of_columns(%x: tensor<?x?xbf16>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %k = tensor.dim %x, %c1 : tensor<?x?xbf16>
  %row = affine.apply affine_map<()[s0] -> (128 * s0)>()[%i]
  %rows = affine.apply affine_map<()[s0, s1] -> (s0 - s1)>()[%k, %row]
  %cols = affine.apply affine_map<()[s0] -> (s0 ceildiv 32)>()[%m]
  %q, %s = blockscale.quantize %x block [32, 1] transposed : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU, #swizzled>
  %0 = tensor.extract_slice %s[%row, 0] [%rows, %cols] [1, 1] : tensor<?x?xf8E8M0FNU, #swizzled> to tensor<?x?xf8E8M0FNU, #swizzled>
  %r, %t = blockscale.quantize %x block [32, 32] scale_dim n : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU, #swizzled>
  %1 = tensor.extract_slice %t[%row, 0] [%rows, %cols] [1, 1] : tensor<?x?xf8E8M0FNU, #swizzled> to tensor<?x?xf8E8M0FNU, #swizzled>
  %p, %u = blockscale.quantize %x block [32, 32] scale_dim k : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU, #swizzled>
  // expected-error @below {{expected the size of dimension 0 to be a multiple of 128 or to reach the end, but got a value not known to be one}}
  %2 = tensor.extract_slice %u[%row, 0] [%rows, %cols] [1, 1] : tensor<?x?xf8E8M0FNU, #swizzled> to tensor<?x?xf8E8M0FNU, #swizzled>
  return
}
