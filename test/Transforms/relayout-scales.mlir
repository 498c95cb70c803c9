// RUN: blockscale-opt %s --blockscale-relayout-scales | FileCheck %s

// Ops that have no kernels for a layout go by linear scales.

// CHECK-DAG: #[[TILES:.+]] = #blockscale.layout<swizzle_8x4>
// CHECK-DAG: #[[SWIZZLED:.+]] = #blockscale.layout<swizzle_128x4>
#tiles = #blockscale.layout<swizzle_8x4>
#swizzled = #blockscale.layout<swizzle_128x4>

// CHECK-LABEL: func.func @quantize
func.func @quantize(%x: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN, #tiles>) {
  // CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize {{.+}} -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  // CHECK-NEXT: %[[T:.+]] = blockscale.swizzle %[[S]] : tensor<?x4xf8E4M3FN> -> tensor<?x4xf8E4M3FN, #[[TILES]]>
  // CHECK-NEXT: return %[[Q]], %[[T]]
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN, #tiles>
  return %q, %s : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN, #tiles>
}

// CHECK-LABEL: func.func @expand_scale
func.func @expand_scale(%s: tensor<1x4xf8E8M0FNU>) -> tensor<8x4xf8E8M0FNU, #tiles> {
  // CHECK: %[[E:.+]] = blockscale.expand_scale {{.+}} -> tensor<8x4xf8E8M0FNU>
  // CHECK-NEXT: %[[T:.+]] = blockscale.swizzle %[[E]] : tensor<8x4xf8E8M0FNU> -> tensor<8x4xf8E8M0FNU, #[[TILES]]>
  // CHECK-NEXT: return %[[T]]
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<1x4xf8E8M0FNU> -> tensor<8x4xf8E8M0FNU, #tiles>
  return %e : tensor<8x4xf8E8M0FNU, #tiles>
}

// The data tell the sizes that tiles do not.
// CHECK-LABEL: func.func @dequantize
func.func @dequantize(%q: tensor<?x?xf8E4M3FN>, %s: tensor<?x?xf8E8M0FNU, #tiles>) -> tensor<?x?xf32> {
  // CHECK-DAG: %[[C0:.+]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.+]] = arith.constant 1 : index
  // CHECK-DAG: %[[M:.+]] = tensor.dim %{{.+}}, %[[C0]]
  // CHECK-DAG: %[[K:.+]] = tensor.dim %{{.+}}, %[[C1]]
  // CHECK: %[[C:.+]] = affine.apply {{.+}}%[[K]]
  // CHECK: %[[L:.+]] = blockscale.swizzle %{{.+}} sizes(%[[M]], %[[C]]) : tensor<?x?xf8E8M0FNU, #[[TILES]]> -> tensor<?x?xf8E8M0FNU>
  // CHECK: blockscale.dequantize %{{.+}}, %[[L]] block [1, 32]
  %x = blockscale.dequantize %q, %s block [1, 32] : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU, #tiles> -> tensor<?x?xf32>
  return %x : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @between_tiles
func.func @between_tiles(%s: tensor<?x4xf8E4M3FN, #swizzled>, %r: index) -> tensor<?x4xf8E4M3FN, #tiles> {
  // CHECK: %[[L:.+]] = blockscale.swizzle %{{.+}} sizes(%{{.+}}) : tensor<?x4xf8E4M3FN, #[[SWIZZLED]]> -> tensor<?x4xf8E4M3FN>
  // CHECK-NEXT: %[[T:.+]] = blockscale.swizzle %[[L]] : tensor<?x4xf8E4M3FN> -> tensor<?x4xf8E4M3FN, #[[TILES]]>
  // CHECK-NEXT: return %[[T]]
  %t = blockscale.swizzle %s sizes(%r) : tensor<?x4xf8E4M3FN, #swizzled> -> tensor<?x4xf8E4M3FN, #tiles>
  return %t : tensor<?x4xf8E4M3FN, #tiles>
}

// Kernels have linear scales and tiles of 128x4.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<4x64xbf16>, %q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN, #swizzled>,
                %t: tensor<4x4xf8E4M3FN, #tiles>) -> (tensor<4x4xf8E4M3FN, #swizzled>, tensor<4x64xf32>, tensor<4x4xf8E4M3FN>) {
  // CHECK-NEXT: blockscale.quantize {{.+}}, tensor<4x4xf8E4M3FN, #[[SWIZZLED]]>
  %a, %b = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #swizzled>
  // CHECK-NEXT: blockscale.dequantize {{.+}}, tensor<4x4xf8E4M3FN, #[[SWIZZLED]]>
  %y = blockscale.dequantize %q, %s block [1, 16] : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #swizzled> -> tensor<4x64xf32>
  // CHECK-NEXT: blockscale.swizzle %{{.+}} : tensor<4x4xf8E4M3FN, #[[TILES]]> -> tensor<4x4xf8E4M3FN>
  %u = blockscale.swizzle %t : tensor<4x4xf8E4M3FN, #tiles> -> tensor<4x4xf8E4M3FN>
  // CHECK-NEXT: return
  return %b, %y, %u : tensor<4x4xf8E4M3FN, #swizzled>, tensor<4x64xf32>, tensor<4x4xf8E4M3FN>
}

// A kernel's ops are fixed.
// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<4x64xbf16>, %qi: tensor<4x64xf4E2M1FN>, %si: tensor<4x4xf8E4M3FN, #tiles>) -> tensor<4x4xf8E4M3FN, #tiles> {
  // CHECK-NOT: blockscale.swizzle
  %q, %s = blockscale.kernel ins(%x : tensor<4x64xbf16>) outs(%qi, %si : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #tiles>) {
  ^bb0(%a: tensor<4x64xbf16>, %b: tensor<4x64xf4E2M1FN>, %c: tensor<4x4xf8E4M3FN, #tiles>):
    %d, %e = blockscale.quantize %a block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #tiles>
    blockscale.yield %d, %e : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #tiles>
  } -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #tiles>
  return %s : tensor<4x4xf8E4M3FN, #tiles>
}
